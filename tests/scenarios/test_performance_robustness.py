"""Whatever happens to a file for simulate, it is read or refused in so many words."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rackproof.scenarios.document import Items, Node, Pairs, Scalar, parse
from rackproof.scenarios.errors import ScenarioError
from rackproof.scenarios.performance import loader
from rackproof.scenarios.performance.loader import loads
from rackproof.scenarios.performance.overrides import assignment
from rackproof.scenarios.worlds import InputError

FOLDER = Path(__file__).parents[2] / "scenarios" / "performance"
PATH = FOLDER / "own.yaml"
TEXT = """\
rackproof: 1
name: Nearly every key
source: here
deployment:
  model: {like: llama-3-70b, layers: 40}
  gpu: gb200
  kv-format: fp8
  memory-share: 80 %
  overhead: 1 ms
  prefill: {instances: 2, gpus: 4}
  decode:
    instances: 1
    gpus: 4
    gpu: {like: gb200, memory_GB: 96}
  hand-off: {rack: {preset: nvl72, on: {decode-0: tray-3}}, channels: 2}
  routing: {prefill: round-robin}
  prefix-cache: {block: 512 tokens, blocks: 1000}
  decode-batch: 64
workload:
  mooncake: {file: data/mooncake-synthetic-200.jsonl, speed: 2}
slo: {ttft: 3 s, tpot: 20 ms}
warm-up: 5 %
variants:
  - name: a
    workload:
      synthetic:
        requests: 5
        rate: 3 /s
        prompt: {mean: 100 tokens, cv: 0.5}
        output: 10 tokens
        arrivals: constant
  - {name: b, deployment: {aggregated: {instances: 3, gpus: 4, chunk: 1024 tokens}}}
published:
  - {figure: F, of: a, measure: tpot-p99, value: 12 ms}
expect:
  - {of: a, measure: slo-met, at-least: 99 %}
"""
LINES = TEXT.splitlines()
JUNK = ["", "~", "[]", "{}", "{a: b}", "- x", "&a *a", "!!int x", ": :", "\t", '"', "'", "9" * 99]
VALUES = ["-1", "0", ".nan", ".inf", "1e999", "true", "1 s", "-3 tokens", "5 %", "x"]


def survives(text: str) -> None:
    lines = len(text.splitlines()) + 1
    try:
        loads(text, PATH)
    except ScenarioError as error:
        for problem in error.problems:
            assert 0 <= problem.line <= lines
            assert "\n" not in problem.message


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_edit_is_read_or_refused(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(TEXT)))
    length = data.draw(st.integers(0, 30))
    put = data.draw(st.text(max_size=8) | st.sampled_from([*JUNK, *VALUES]))
    survives(TEXT[:at] + put + TEXT[at + length :])


@given(st.lists(st.sampled_from([*LINES, *JUNK]), max_size=15))
@settings(max_examples=60, deadline=None)
def test_any_jumble_of_lines_is_read_or_refused(lines: list[str]) -> None:
    survives("\n".join(lines))


@pytest.mark.parametrize("number", [i for i, line in enumerate(LINES) if ": " in line])
def test_any_value_may_be_anything(number: int) -> None:
    for value in (*JUNK[:3], *VALUES):
        changed = f"{LINES[number].split(':')[0]}: {value}"
        survives("\n".join([*LINES[:number], changed, *LINES[number + 1 :]]))


def test_it_is_right_before_it_is_changed() -> None:
    assert [variant.name for variant in loads(TEXT, PATH).variants] == ["a", "b"]


FAILURES = """\
failures:
  rack: {preset: nvl72}
  strikes:
    - fails: decode-0
      at: 1 s
      detection: {heartbeat: {period: 1 s}}
      recovery: {store: {link: 100gbe, look-up: 1 ms}}
      restart: 60 s
availability: {gpu: 1000 h, restart: 64 s, detection: lease, recovery: {transfer: 100gbe}}
checkpoints: {over: {like: c2c, latency_us: 3}, intervals: [1 s], gpu: [gpu, 1000 h]}
"""
EVERY = (TEXT + FAILURES).replace("  memory-share", "  parallel: tensor\n  memory-share", 1)


def emptied(node: Node) -> Iterator[Node]:
    """The document, each time with one of its values emptied."""
    yield Pairs(1, ())
    if not isinstance(node, Scalar):
        yield Scalar(1, None, "")
    match node:
        case Pairs(line, entries):
            for at, (key, value) in enumerate(entries):
                for other in emptied(value):
                    yield Pairs(line, (*entries[:at], (key, other), *entries[at + 1 :]))
        case Items(line, items):
            for at, value in enumerate(items):
                for other in emptied(value):
                    yield Items(line, (*items[:at], other, *items[at + 1 :]))


def test_an_empty_value_is_read_or_refused_and_takes_nothing_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A reader that gives nothing and tells nothing would drop what it was asked to read."""
    whole = parse(EVERY, PATH)
    assert set(loads(EVERY, PATH).sections) == {"failures", "availability", "checkpoints"}
    for node in emptied(whole):
        monkeypatch.setattr(loader, "parse", lambda *_, node=node: node)
        try:
            plan = loads("", PATH)
        except ScenarioError:
            continue
        assert None not in plan.sections.values()


@given(st.text(max_size=30))
@settings(max_examples=100, deadline=None)
def test_any_setting_is_taken_or_refused(text: str) -> None:
    try:
        change = assignment(text)
    except InputError:
        return
    with pytest.raises(ScenarioError):
        loads(TEXT, PATH, [change])
