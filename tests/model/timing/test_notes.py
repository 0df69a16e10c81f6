"""What the reader of times is told of what the world leaves out."""

import pytest

from rackproof.model.kernel import Timing
from rackproof.model.protocol import Protocol
from rackproof.model.rack import place, preset
from rackproof.model.scope import Scope
from rackproof.model.timing.clock import timing
from rackproof.model.timing.costs import Costs
from rackproof.model.timing.deployment import Deployment

PLACEMENT = place(preset("nvl72"), prefill=1, decode=2)
FULL = Scope(requests=1, tokens=3)


def timed(scope: Scope, output: int = 601, **counts: int) -> Timing:
    placement = place(preset("nvl72"), **counts) if counts else PLACEMENT
    return timing(Protocol(), scope, placement, Deployment(output=output))


@pytest.mark.parametrize(("tokens", "share"), [(1, "601"), (2, "600"), (3, "300"), (61, "10")])
def test_a_token_of_the_scope_stands_for_many(tokens: int, share: str) -> None:
    (told, *_) = timed(Scope(requests=1, tokens=tokens)).notes
    assert told.startswith(f"A token of the scope stands for {share} of the output's 601,")


def test_the_error_is_the_steps_of_the_last_share() -> None:
    costs = Costs(Deployment(output=601), PLACEMENT, 3)
    most = 300 * costs.decode(1, 2.5).seconds
    assert timed(FULL).notes[0].endswith(f"may be too small by up to {most:.3g} s.")


def test_no_note_where_a_token_is_a_token() -> None:
    assert not any("stands for" in note for note in timed(FULL, output=3).notes)


def test_room_is_told_where_it_is_for_one_request_a_worker() -> None:
    def tells_room(told: Timing) -> bool:
        return any("blocks-per-worker: 1" in note for note in told.notes)

    assert tells_room(timed(FULL))
    assert not tells_room(timed(Scope(requests=1, tokens=3, blocks_per_worker=2)))
    assert not tells_room(timed(FULL, aggregated=2))


def test_without_requests_there_is_nothing_to_tell() -> None:
    assert timed(Scope(requests=0)).notes == ()
