"""A record gathered by request: the same from memory and from files, in the order of the record."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rackproof.model.kernel import Observation, Place
from rackproof.scenarios.recorded.gathered import Gathered
from rackproof.scenarios.recorded.mapping import find_mapping
from rackproof.scenarios.recorded.noted import Noted
from rackproof.scenarios.recorded.reader import read
from rackproof.scenarios.recorded.runs import run_of
from rackproof.scenarios.worlds import InputError

CAPTURES = Path(__file__).parents[1] / "data" / "dynamo-1.6.1"


def token(about: str, line: int, position: int | None, **more: int | str) -> Noted:
    values = {} if position is None else {"position": position}
    place = Place("sse", line)
    seen = Observation("client", "token", {**values, **more}, {"worker": "a"}, place, line * 0.5)
    return Noted(about, seen, "driver")


def naive(notes: Sequence[Noted]) -> list[tuple[str, list[Noted]]]:
    by: dict[str, list[Noted]] = {}
    for noted in notes:
        if noted.about is not None:
            by.setdefault(noted.about, []).append(noted)
    return list(by.items())


def gathered(notes: Sequence[Noted], most: int) -> list[tuple[str, list[Noted]]]:
    learnt: list[Noted] = []
    with Gathered(map(run_of, notes), learnt.append, most) as requests:
        found = list(requests)
    assert learnt == list(notes)
    return found


ANY = st.builds(
    Noted,
    st.sampled_from([None, "a", "b", "request-3", "é"]),
    st.builds(
        Observation,
        st.sampled_from(["client", "w0"]),
        st.sampled_from(["token", "end"]),
        st.dictionaries(st.sampled_from(["position", "x"]), st.integers(0, 3) | st.booleans()),
        st.dictionaries(st.just("worker"), st.sampled_from(["w0", "w1"])),
        st.none() | st.builds(Place, st.sampled_from(["f", "g"]), st.integers(0, 3)),
        st.none() | st.floats(0, 9),
    ),
    st.sampled_from(["driver", "w0"]),
)


@settings(deadline=None)
@given(st.lists(ANY, max_size=40), st.sampled_from([0, 1, 7, 1000]))
def test_any_notes_come_back_as_they_were(notes: list[Noted], most: int) -> None:
    assert gathered(notes, most) == naive(notes)


def test_tokens_in_order_wait_as_one_run() -> None:
    notes = [token("a", line, line) for line in range(2000)]
    with Gathered(map(run_of, notes), lambda _: None, most=64) as requests:
        assert not requests.in_files
        ((about, back),) = requests
    assert (about, back) == ("a", notes)


def test_a_flag_is_no_number_that_counts_on() -> None:
    notes = [token("a", 1, 0), token("a", 2, 1, x=1), token("a", 3, None), token("a", 4, 3)]
    flag = Noted("a", Observation("client", "token", {"position": True}), "driver")
    ((_, back),) = gathered([*notes, flag], 1000)
    assert back == [*notes, flag]
    assert back[-1].observation.values["position"] is True


def test_a_capture_from_files_is_the_same_as_from_memory() -> None:
    path = CAPTURES / "zombie_lim3_tmo3_round-robin"
    notes = list(read(path, find_mapping("dynamo"), print))
    assert gathered(notes, 3) == gathered(notes, 10**6) == naive(notes)


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    notes = [token(f"r{line}", line, 0) for line in range(50)]
    with Gathered(map(run_of, notes), lambda _: None, most=5) as requests:
        assert requests.in_files
        assert list(tmp_path.iterdir())
        next(iter(requests))  # the rest is not wanted
    assert list(tmp_path.iterdir()) == []

    def broken(noted: Noted) -> None:
        if noted.about == "r40":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Gathered(map(run_of, notes), broken, most=5)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(InputError, match=r"none.*too large for memory.*TMPDIR"):
        Gathered(map(run_of, [token("a", 1, 0), token("b", 2, 0)]), lambda _: None, most=0)
