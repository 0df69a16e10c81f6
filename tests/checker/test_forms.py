"""The forms of a run: each says what is so, is read by what reads it, and takes names as names."""

from __future__ import annotations

import ast
import functools
import html
import itertools
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import itf_py
import pytest
import relay
from browser import Browser, browser  # noqa: F401 (a fixture)
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from rackproof.checker.cli import run
from rackproof.checker.engines import Options
from rackproof.checker.explain import (
    Condition,
    Explanation,
    Mend,
    NearMiss,
    explain,
    explain_replay,
)
from rackproof.checker.replay import replay
from rackproof.checker.report.ci.checks import checks
from rackproof.checker.report.escaping import in_markdown, line
from rackproof.checker.report.forms import FORMS
from rackproof.checker.report.forms import mermaid as mermaid_form
from rackproof.checker.report.forms.markdown import spans_in_words
from rackproof.checker.report.machine import as_data
from rackproof.checker.report.screen import shown
from rackproof.checker.report.timed import InTime, WithinTimes
from rackproof.checker.saving import as_yaml, origin
from rackproof.checker.session import as_json
from rackproof.checker.targets import expand
from rackproof.checker.trace import Trace
from rackproof.checker.trace import run as fire
from rackproof.checker.verify import Report, verify
from rackproof.model.kernel import Belief, Firing, Message, ModelError
from rackproof.scenarios.loader import load, loads
from rackproof.scenarios.settings import own_setting
from rackproof.testing import holds, no_longer

ROOT = Path(__file__).parents[2]
LEASE = ROOT / "docs" / "examples" / "lease.py"
MERMAID = ROOT / ".tools" / "node_modules" / "mermaid" / "dist" / "mermaid.min.js"
VIEWER = ROOT / ".tools" / "xprof" / "static" / "trace_viewer_index.html"
BUG = ROOT / "scenarios" / "bugs" / "dynamo-11646-router-mirror-lags.yaml"

NAMES = (
    "<script>alert(1)</script>",
    '"; DROP TABLE',
    "a\nb",
    "left\u202eright",
    "a|b",
    "`tick` ``` tick",
    "\U0001f600",
    "half\ud800",
    "@somebody fixes #123 GH-7 o/r#8 www.x.y https://x.y deadbeef00",
    "%%{init: {}}%% end; loop #35;",
    "-->> p0: x",
    "'''\"\"\"\\",
    "${x} :smile: $$x$$ {{ 7 }} {% x %}",
    "---",
    "# 1. * _x_ ~~y~~ [a](b) ![c](d) &lt;",
    "2023. x",
)

HOSTILE_WORLD = f"""
NAMES = {NAMES!a}
hostile = kernel.System(
    NAMES[0], World(), steps, (no_overwrite_in_flight,), {{"slow": 1, "reader": {len(NAMES)}}},
    {{Readers: NAMES}},
)
"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Explanation:
    """A run in which every one of the names has a step, of a world that can be loaded."""
    folder = tmp_path_factory.mktemp("hostile")
    file = folder / "lease.py"
    file.write_text(LEASE.read_text("utf-8") + HOSTILE_WORLD, "utf-8")
    setting = own_setting(file, "hostile", f"{file}:hostile")
    system = setting.system
    chosen = {t.name: t for t in system.transitions}
    firings = [Firing(chosen["start"], (index,)) for index in range(len(NAMES))]
    trace = fire(system, [*firings, Firing(chosen["slow_read"], ()), Firing(chosen["reuse"], ())])
    prop = system.properties[0]
    named = attrs.evolve(prop, why=NAMES[8])
    text = as_yaml(trace, prop, NAMES[0], NAMES[8], origin(setting, folder, folder))
    scenario = loads(text, folder / "run.yaml")
    replayed = replay(scenario)
    assert replayed.complaints == ()
    told = explain_replay(scenario, replayed, f"rackproof replay {NAMES[5]}")
    beliefs = (Belief(NAMES[9], NAMES[10], NAMES[11], NAMES[4], False),)
    last = attrs.evolve(
        told.moments[-1],
        beliefs=beliefs,
        message=Message(NAMES[2], NAMES[3]),
        why=(Condition(NAMES[1], 1),),
        causes=(1,),
    )
    return attrs.evolve(
        told,
        prop=named,
        verdict="violated",
        notes=NAMES[14],
        scope=NAMES[7],
        moments=(*told.moments[:-1], last),
        where=NAMES[10],
        reads=("reading",),
        near_miss=NearMiss(Trace(system, trace.steps[:2]), 1, NAMES[11]),
        mends=(Mend((NAMES[13],), NAMES[4], NAMES[5]),),
        file=None,
        folder=folder,
    )


long = functools.cache(relay.long)
RUNS: Mapping[str, Callable[[], Explanation]] = {
    "whole": relay.explained,
    "long": long,
    "endless": relay.endless,
    "replayed": relay.replayed,
    "immediate": relay.immediate,
    "hostile": relay.hostile,
}


@attrs.frozen
class Bug:
    """A bundled bug, verified, and its counterexample, explained."""

    report: Report
    explanation: Explanation


@pytest.fixture(scope="module")
def bug() -> Bug:
    (target,) = expand([str(BUG)]).found
    report = verify(target, Options())
    ((result, found),) = ((r, run) for run, r in report.judged if r.trace is not None)
    return Bug(report, explain(report, found, result, f"rackproof verify {BUG}"))


DRAWN = ("markdown", "mermaid", "dot", "perfetto", "itf", "json")


@pytest.mark.parametrize("form", DRAWN)
@pytest.mark.parametrize("name", RUNS)
def test_every_run_has_every_form(form: str, name: str) -> None:
    text = FORMS[form].write(RUNS[name]())
    assert shown(text) == text
    assert text.encode()


@pytest.mark.parametrize("form", [*DRAWN, "yaml", "pytest"])
def test_names_are_inert_in_every_form(form: str, hostile: Explanation) -> None:
    text = FORMS[form].write(hostile)
    steering = re.search("[\u202e\ud800\x1b]", text)
    assert steering is None, text[max(steering.start() - 80, 0) : steering.end()]
    assert text.encode()


SENTENCE = "request-0 was sent to a worker that discovery had removed."


@pytest.mark.parametrize("form", ["markdown", "mermaid", "dot", "json"])
def test_what_is_broken_is_told_in_every_form(form: str, bug: Bug) -> None:
    assert bug.explanation.broken == (SENTENCE,)
    told = " ".join(FORMS[form].write(bug.explanation).replace("\\n", " ").split())
    assert SENTENCE in told


def test_builds_are_told_what_is_broken(bug: Bug) -> None:
    (check,) = (check for check in checks([bug.report]) if check.result and check.result.trace)
    assert check.message == ""
    wrong = attrs.evolve(check, wrong="violated: 1 fault, 6 steps")
    assert wrong.message == f"violated: 1 fault, 6 steps: {SENTENCE}"


# Markdown


def read(markdown: str) -> str:
    """What a reader of Markdown sees, comments and marks aside."""
    rendered = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown)
    return html.unescape(re.sub(r"<!--.*?-->|</?(p|li|ul|ol)>", "", rendered)).strip()


@pytest.mark.parametrize("name", NAMES)
def test_markdown_shows_a_name_as_it_is(name: str) -> None:
    for before in ("", "- ", "1. ", "> "):
        seen = re.sub("</?blockquote>", "", read(before + in_markdown(name))).strip()
        assert seen == line(name)


@settings(max_examples=60, deadline=None)
@given(st.text(st.sampled_from("\\`*_~[]()!#<>&@:+-=.|$ \nab1/\u202e"), max_size=12))
def test_markdown_shows_any_text_as_it_is(text: str) -> None:
    assert read(f"- {in_markdown(text)}").replace("<li></li>", "") == line(text)


@pytest.mark.parametrize("mark", ["@somebody", "#123", "GH-7", "o/r#8", "www.", "https://x"])
def test_markdown_mentions_nobody(mark: str, hostile: Explanation) -> None:
    prose = re.sub(r"(`{3,})\w*\n.*?\n\1\n", "", FORMS["markdown"].write(hostile), flags=re.DOTALL)
    assert mark not in prose
    assert mark in re.sub("<!-- -->", "", prose)


def test_markdown_tells_all_that_is_known() -> None:
    text = FORMS["markdown"].write(relay.explained())
    assert re.findall("^## (.*)", text, re.MULTILINE) == [
        "What happens",
        "As a diagram",
        "Where it goes wrong",
        "Who was wrong about what",
        "What it takes",
        "The turning point: step 6",
        "The nearest run that is safe",
        "What mends it",
        "Timing",
        "What was not found out",
        "Not checked",
        "What to do next",
        "To see it again",
    ]
    assert "\n5. at 20.5 ms: **Fault 1 of 1: worker-1 crashes: " in text
    assert "<details><summary>Step 4 makes no difference to it</summary>\n\n4. at 20.5 ms" in text
    assert "   - because: asked is true (step 1); listed\\[1] is true\n" in text
    assert "| router | worker-1 | is alive | is dead | 5 to 6 |" in text
    assert "- holder is worker-1 (step 6)\n- alive.worker-1 is false (step 5)\n" in text
    assert "Dotted: what makes no difference to it." in text


def test_markdown_says_nothing_of_what_is_not_known() -> None:
    text = FORMS["markdown"].write(relay.immediate())
    told = re.findall("^## (.*)", text, re.MULTILINE)
    assert not any(title.startswith("The turning point") for title in told)
    assert "No step: the initial state itself." in text


def test_a_loop_is_told_as_one() -> None:
    text = FORMS["markdown"].write(relay.endless())
    assert "From here on, for ever:\n\n5. " in text
    assert "And back to the state before step 5." in text
    diagram = FORMS["mermaid"].write(relay.endless())
    assert diagram.count("    loop for ever\n") == 1
    assert "s6 -> s5 [" in FORMS["dot"].write(relay.endless())
    assert json.loads(FORMS["itf"].write(relay.endless()))["loop"] == 4


def test_numbers_in_spans() -> None:
    assert spans_in_words([1, 2, 3, 5, 8, 9]) == "1 to 3, 5, 8 to 9"


@pytest.mark.parametrize("number", ["8.0860503 s", "1234567", "1,234,567 bytes"])
def test_markdown_leaves_numbers_whole(number: str) -> None:
    assert "<!-- -->" not in in_markdown(number)
    assert in_markdown("deadbeef00 8.1234567").startswith("deadbe<!-- -->ef00 8")


def test_markdown_has_another_run_as_a_list_in_a_list() -> None:
    words = ("Timing: possible", "Another run:", "  1. at 1 s: it goes", "       a: 0 -> 1")
    text = FORMS["markdown"].write(
        attrs.evolve(relay.explained(), in_time=WithinTimes(InTime.OPEN, words))
    )
    told = text.partition("## Timing\n\n")[2].partition("\n\n")[0].splitlines()
    assert told == ["- possible", "- Another run:", "  1. at 1 s: it goes", "     - a: 0 -> 1"]


# Mermaid, as the real library reads and draws it

DRAW = """
const [text, done] = arguments;
mermaid.initialize({ startOnLoad: false, securityLevel: "strict" });
(async () => {
  const { diagramType } = await mermaid.parse(text);
  const { svg } = await mermaid.render("drawn", text);
  document.body.innerHTML = svg;
  const texts = [...document.querySelectorAll("svg text")].map((each) => each.textContent);
  return [diagramType, texts, document.querySelectorAll("svg script, svg img").length];
})().then(done, (error) => done([`${error}`, [], 0]));
"""


@pytest.fixture(scope="module")
def draw(
    browser: Browser,  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str], list[str]]:
    """Draws a diagram with mermaid, and tells the texts that are seen in it."""
    if not MERMAID.is_file():
        pytest.skip("needs mermaid (make browsers)")
    page = tmp_path_factory.mktemp("mermaid") / "page.html"
    page.write_text(
        f'<!doctype html><meta charset="utf-8"><script src="{MERMAID.as_uri()}"></script>'
    )
    browser.open(page)

    def drawn(text: str) -> list[str]:
        kind, texts, alien = browser.driver.execute_async_script(DRAW, text)
        assert (kind, alien) == ("sequence", 0)
        return [*texts]

    return drawn


@pytest.mark.parametrize("name", RUNS)
def test_mermaid_draws_every_run(name: str, draw: Callable[[str], list[str]]) -> None:
    explanation = RUNS[name]()
    texts = draw(FORMS["mermaid"].write(explanation))
    seen = " ".join(" ".join(texts).split())
    for moment in explanation.moments:
        assert line(moment.step.words) in seen
    numbers = [text for text in texts if text.isdigit()]
    assert numbers == [str(moment.number) for moment in explanation.moments]


def test_mermaid_shows_names_as_they_are(
    hostile: Explanation, draw: Callable[[str], list[str]]
) -> None:
    texts = draw(FORMS["mermaid"].write(hostile))
    for name in NAMES:
        assert line(name).replace("  ", " ") in texts


def test_mermaid_leaves_out_what_is_too_much_and_says_so(
    draw: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mermaid_form, "LARGEST", 6_000)
    text = FORMS["mermaid"].write(long())
    assert len(text) <= 6_000
    (first, last) = re.search(r"steps (\d+) to (\d+) left out", text).groups()  # type: ignore[union-attr]
    numbers = [int(text) for text in draw(text) if text.isdigit()]
    assert numbers == [*range(1, int(first)), *range(int(last) + 1, 201)]


# GraphViz


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs graphviz (make browsers)")
@pytest.mark.parametrize("name", [*RUNS, "names"])
def test_graphviz_draws_every_run(name: str, hostile: Explanation) -> None:
    explanation = hostile if name == "names" else RUNS[name]()
    text = FORMS["dot"].write(explanation)
    done = subprocess.run(["dot", "-Tsvg"], input=text.encode(), capture_output=True, check=True)
    assert done.stderr == b""
    drawn = done.stdout.decode()
    seen = "".join(html.unescape("".join(re.findall("<text[^>]*>(.*?)</text>", drawn))).split())
    for moment in explanation.moments:
        assert "".join(line(moment.step.words).split()) in seen


def test_graphviz_draws_causes_and_the_nearest_safe_run() -> None:
    text = FORMS["dot"].write(relay.explained())
    assert "  s5 -> s6;\n" in text
    assert "  s5 -> n6 [style=dashed" in text
    assert re.search(r"s5 \[label=.*color=\"#b3261e\"", text)
    assert re.search(r"s4 \[label=.*color=\"#9e9e9e\"", text)
    assert "shape=octagon" in text


# ITF


@pytest.mark.parametrize("name", RUNS)
def test_itf_has_the_plain_states(name: str) -> None:
    explanation = RUNS[name]()
    trace = itf_py.trace_from_json(json.loads(FORMS["itf"].write(explanation)))
    system = explanation.trace.system
    workers = system.names[relay.Workers]
    assert trace.vars == ["alive", "listed", "holder", "sent", "asked", "load"]
    assert len(trace.states) == len(explanation.states)
    assert trace.loop == explanation.trace.loop
    for number, (read_back, state) in enumerate(zip(trace.states, explanation.states, strict=True)):
        assert read_back.meta["index"] == number
        assert read_back.values == {
            "alive": dict(zip(workers, state.alive, strict=True)),
            "listed": dict(zip(workers, state.listed, strict=True)),
            "holder": "none" if state.holder is None else workers[state.holder],
            "sent": state.sent,
            "asked": state.asked,
            "load": state.load,
        }


def test_itf_round_trips(hostile: Explanation) -> None:
    data = json.loads(FORMS["itf"].write(hostile))
    trace = itf_py.trace_from_json(data)
    assert trace.states[3].values["reading"] == frozenset(NAMES[:3])
    assert trace.states[-1].values == {
        "block": "reused",
        "reading": frozenset(NAMES),
        "last": NAMES[-1],
        "slow_left": 0,
    }
    again = itf_py.trace_to_json(trace)
    assert again["vars"] == data["vars"]
    sets = [state["reading"]["#set"] for state in again["states"]]
    assert [set(each) for each in sets] == [set(s["reading"]["#set"]) for s in data["states"]]


def test_itf_of_the_bundled_world_has_its_constants_left_out(bug: Bug) -> None:
    trace = itf_py.trace_from_json(json.loads(FORMS["itf"].write(bug.explanation)))
    worker = trace.states[-1].values["endpoints"]["worker-0"]
    assert worker.process == "draining"
    assert worker.listed is False
    assert "roles" not in trace.vars


# Perfetto


@pytest.mark.parametrize("name", RUNS)
def test_perfetto_has_a_slice_a_step(name: str) -> None:
    explanation = RUNS[name]()
    data = json.loads(FORMS["perfetto"].write(explanation))
    events = data["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    slices = [e for e in events if e["ph"] == "X" and "step" in e["args"]]
    assert [e["args"]["step"] for e in slices] == [m.number for m in explanation.moments]
    assert [names[e["tid"]] for e in slices] == [m.message.target for m in explanation.moments]
    for event, moment in zip(slices, explanation.moments, strict=True):
        assert event["ts"] + event["dur"] == pytest.approx(float(moment.at or 0) * 1e6)
    faults = [e["name"] for e in events if e["ph"] == "i" and e["cat"] == "fault"]
    assert len(faults) == explanation.trace.faults
    assert well_formed(events) == []


def well_formed(events: list[dict[str, Any]]) -> list[str]:
    """What is wrong with events by the description of their format: keys, types, pairs."""
    needed = {
        "X": {"name", "cat", "ts", "dur", "pid", "tid", "args"},
        "M": {"name", "pid", "tid", "args"},
        "i": {"name", "cat", "ts", "pid", "tid", "s"},
        "s": {"name", "cat", "ts", "pid", "tid", "id"},
        "f": {"name", "cat", "ts", "pid", "tid", "id", "bp"},
        "C": {"name", "cat", "ts", "pid", "args"},
    }
    wrong = [f"{e}" for e in events if set(e) - {"ph"} != needed[e["ph"]]]
    wrong += [f"{e}" for e in events if e.get("ts", 0) < 0 or e.get("dur", 0) < 0]
    begun = [e["id"] for e in events if e["ph"] == "s"]
    ended = [e["id"] for e in events if e["ph"] == "f"]
    wrong += [] if begun == ended and len(set(begun)) == len(begun) else ["flows"]
    by_track: dict[int, list[tuple[float, float]]] = {}
    for e in events:
        if e["ph"] == "X":
            by_track.setdefault(e["tid"], []).append((e["ts"], e["ts"] + e["dur"]))
    for spans in by_track.values():
        pairs = itertools.pairwise(spans)
        wrong += [f"overlap {a} {b}" for a, b in pairs if b[0] < a[1] - 1e-6]
    return wrong


def test_perfetto_counts_what_is_spent() -> None:
    events = json.loads(FORMS["perfetto"].write(relay.explained()))["traceEvents"]
    spent = [e["args"]["value"] for e in events if e["ph"] == "C" and e["name"] == "joules"]
    assert spent == [0.0, 12.5, 12.75, 12.75, 12.75, 25.25]


IMPORT = """
const model = new tr.Model();
new tr.importer.Import(model).importTraces([arguments[0]]);
const [process] = model.getAllProcesses();
const tracks = Object.values(process.threads);
return {
  warnings: model.importWarnings.map((each) => each.message),
  tracks: Object.fromEntries(tracks.map((t) => [t.name, t.sliceGroup.slices.map((s) => s.title)])),
  flows: model.flowEvents.length,
  counters: Object.keys(process.counters),
  instants: process.instantEvents.map((each) => each.title),
};
"""


@pytest.fixture(scope="module")
def viewed(browser: Browser) -> Callable[[str], dict[str, Any]]:  # noqa: F811
    """What Chrome's trace viewer makes of a file."""
    if not VIEWER.is_file():
        pytest.skip("needs Chrome's trace viewer (make browsers)")
    browser.open(VIEWER)
    return lambda text: dict(browser.run(IMPORT, text))


@pytest.mark.parametrize("name", [name for name in RUNS if name != "immediate"])
def test_the_trace_viewer_of_chrome_reads_every_run(
    name: str, viewed: Callable[[str], dict[str, Any]]
) -> None:
    explanation = RUNS[name]()
    seen = viewed(FORMS["perfetto"].write(explanation))
    assert seen["warnings"] == []
    for moment in explanation.moments:
        assert f"{moment.number}. {moment.step.words}" in seen["tracks"][moment.message.target]
    passed = [m for m in explanation.moments if m.message.source != m.message.target]
    assert seen["flows"] == len(passed)
    assert set(seen["counters"]) <= {"cost.bytes moved", "cost.tokens recomputed", "cost.joules"}
    faults = [title for title in seen["instants"] if title.startswith("fault: ")]
    assert len(faults) == explanation.trace.faults


@pytest.mark.skipif(
    shutil.which("trace_processor_shell") is None,
    reason="needs Perfetto's trace_processor_shell, which comes in no package",
)
@pytest.mark.parametrize("name", RUNS)
def test_perfetto_loads(name: str, tmp_path: Path) -> None:
    from perfetto.trace_processor import (  # noqa: PLC0415
        TraceProcessor,
        TraceProcessorConfig,
    )

    explanation = RUNS[name]()
    file = tmp_path / "run.json"
    file.write_text(FORMS["perfetto"].write(explanation), "utf-8")
    config = TraceProcessorConfig(bin_path=shutil.which("trace_processor_shell"))
    with TraceProcessor(trace=str(file), config=config) as loaded:
        (row,) = loaded.query("select count(*) as n from slice where dur >= 0")
        assert row.n >= len(explanation.moments)
        wrong = loaded.query("select name from stats where severity = 'error' and value > 0")
        assert [row.name for row in wrong] == []


# JSON and YAML


def test_json_has_what_verify_has(bug: Bug) -> None:
    told = json.loads(as_json(as_data(bug.report)))
    (found,) = (p for p in told["properties"] if p["name"] == "no-dispatch-to-removed")
    data = json.loads(FORMS["json"].write(bug.explanation))
    counterexample = found["counterexample"]
    steps = zip(data["steps"], counterexample.pop("steps"), strict=True)
    assert all(step.items() <= more.items() for more, step in steps)
    assert counterexample.items() <= data.items()
    assert data["initial"]["endpoints[worker-0].process"] == "up"
    assert data["steps"][0]["state"]["endpoints[worker-0].process"] == "draining"


def test_json_has_all_that_is_known() -> None:
    data = json.loads(FORMS["json"].write(relay.explained()))
    assert data["property"]["verdict"] == "violated: 1 fault, 6 steps"
    assert [step["matters"] for step in data["steps"]] == [True] * 3 + [False] + [True] * 2
    assert data["steps"][5]["causes"] == [5]
    assert data["steps"][5]["why"][1] == {"text": "listed[1] is true", "since": None}
    assert data["pivot"]["number"] == 6
    assert data["near_miss"]["parts"] == 6
    assert data["smallest"]["faults"] == {"crash": 1}
    assert data["mends"][1]["side_effects"] == ["request-is-answered"]
    assert data["footing"]["next_moves"] == ["rackproof verify relay.py:world --engine prove"]


def test_yaml_replays_to_the_same(hostile: Explanation) -> None:
    path = hostile.folder / "again.yaml"
    path.write_text(FORMS["yaml"].write(hostile), "utf-8")
    replayed = replay(load(path))
    assert replayed.complaints == ()
    flatten = replayed.trace.system.schema.flatten
    ends = (replayed.trace.final, hostile.trace.final)
    assert flatten(ends[0]) == hostile.trace.system.schema.flatten(ends[1])
    assert replayed.trace.violates(replayed.trace.system.properties[0])


# A test file

WRONG_FROM_THE_START = """
from rackproof.model.kernel import System, always, evolve, frozen, step, transition
@frozen
class World:
    ready: bool = {initial}
    used: bool = False
@transition(step)
def use(world: World) -> World | None:
    return None if world.used else evolve(world, used=True)
@always()
def is_ready(world: World) -> bool:
    '''It is ready.'''
    return world.ready
world = System("bad", World(), (use,), (is_ready,))
"""


def test_a_test_file_embeds_the_scenario_as_it_is(hostile: Explanation) -> None:
    tree = ast.parse(FORMS["pytest"].write(hostile))
    literals = [ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign)]
    assert "".join(literals) == FORMS["yaml"].write(hostile).partition("then:\n")[0]
    kinds = [type(node).__name__ for node in tree.body[1:]]
    assert kinds == ["ImportFrom", *["Assign"] * 2, *["FunctionDef"] * 2]


def called(text: str, file: Path) -> list[str]:
    """What the tests of a test file fail by, in their order; the empty text where one passes."""
    names: dict[str, Any] = {"__file__": str(file)}
    exec(compile(text, file, "exec"), names)
    found = []
    for test in [names[name] for name in names if name.startswith("test_")]:
        try:
            test()
        except AssertionError as error:
            found.append(str(error))
        else:
            found.append("")
    return found


def test_a_test_file_fails_until_the_bug_is_mended(bug: Bug, tmp_path: Path) -> None:
    told = attrs.evolve(bug.explanation, folder=tmp_path, file=None)
    broken = FORMS["pytest"].write(told)
    property_fails, run_fails = called(broken, tmp_path / "bug_test.py")
    assert property_fails.startswith("no-dispatch-to-removed is violated: 1 fault, 2 steps\n")
    told_of_run = run_fails.splitlines()
    assert told_of_run[0] == "this run is still possible, and no-dispatch-to-removed is violated"
    assert told_of_run[3] == f"  {SENTENCE}"
    assert told_of_run[5].startswith("  1. at 0 s: worker-0 is told to stop: ")
    assert "# Both tests pass with select-from-discovery: true under protocol: in WORLD." in broken
    mended = broken.replace("select-from-discovery: false", "select-from-discovery: true")
    assert called(mended, tmp_path / "bug_test.py") == ["", ""]


def test_a_test_file_sees_what_is_mended_in_the_file_of_the_scenario(
    bug: Bug, tmp_path: Path
) -> None:
    scenario = tmp_path / "there" / "bug.yaml"
    scenario.parent.mkdir()
    text = BUG.read_text("utf-8")
    scenario.write_text(text, "utf-8")
    told = attrs.evolve(bug.explanation, folder=tmp_path, file=scenario)
    test = FORMS["pytest"].write(told)
    assert 'SCENARIO = "there/bug.yaml"\n' in test
    assert all(called(test, tmp_path / "bug_test.py"))
    before, _, after = text.partition("select-from-discovery: false")
    scenario.write_text(f"{before}select-from-discovery: true{after}", "utf-8")
    assert called(test, tmp_path / "bug_test.py") == ["", ""]


def test_a_test_of_a_world_that_is_wrong_from_the_start_passes_once_it_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.py").write_text(WRONG_FROM_THE_START.format(initial=False), "utf-8")
    assert run(["export", "bad.py:world", "--to", "pytest", "--out", "bad_test.py"]) == 0
    test = Path("bad_test.py").read_text("utf-8")
    assert all(called(test, tmp_path / "bad_test.py"))
    Path("bad.py").write_text(WRONG_FROM_THE_START.format(initial=True), "utf-8")
    assert called(test, tmp_path / "bad_test.py") == ["", ""]


def test_pytest_runs_a_test_file(hostile: Explanation, tmp_path: Path) -> None:
    told = attrs.evolve(hostile, folder=tmp_path)
    (tmp_path / "hostile_test.py").write_text(FORMS["pytest"].write(told), "utf-8")
    command = ["-Im", "pytest", "-n0", "-p", "no:cacheprovider", "-c", "/dev/null", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert "2 failed in" in done.stdout
    assert "this run is still possible, and no-overwrite-in-flight is violated" in done.stdout


def test_what_is_no_violation_is_no_test(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(f"rackproof: 1\nname: a read\nworld: {LEASE}:world\nsteps: [reuse]\n")
    assert run(["export", str(path), "--to", "pytest"]) == 2
    assert "name the property that is to hold (--property NAME" in capsys.readouterr().err


def test_a_helper_refuses_what_would_pass_whatever_is_so() -> None:
    text = f"rackproof: 1\nname: x\nworld: {LEASE}:world\n"
    with pytest.raises(ValueError, match="needs steps, and a property"):
        no_longer(f"{text}steps: []\n", "x.py")
    with pytest.raises(ValueError, match="there is no property 'no-overwrite'; there are: "):
        holds(text, "no-overwrite", "x.py")


# The command

MENDED = """
prompt = [each for each in steps if each is not slow_read]
mended = kernel.System("mended", World(), prompt, (no_overwrite_in_flight,), sizes)
"""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["stack:reference", "--exam", "crash"], "(crash): no run violates what is asked"),
        (["stack:reference"], "say where (--exam NAME) or of what (--property NAME)"),
        ([f"{LEASE}:world", "--exam", "crash"], "is no stack"),
        ([f"{LEASE}:world", "--fixed"], "there is no fix: in this scenario"),
        ([f"{LEASE}:world", "--property", "no-overwrite"], "did you mean no-overwrite-in-flight?"),
        (
            ["mended.yaml", "--fixed"],
            "(with the fix): no run violates what is asked, nothing",
        ),
        (["nowhere.yaml"], "there is no such file"),
        ([str(BUG.parent)], "scenarios; export takes one"),
    ],
)
def test_what_cannot_be_exported(
    arguments: list[str],
    told: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mended.py").write_text(LEASE.read_text("utf-8") + MENDED, "utf-8")
    Path("mended.yaml").write_text(
        "rackproof: 1\nname: a slow reader\nworld: mended.py:world\n"
        "expect: {no-overwrite-in-flight: violated}\nfix: {world: mended.py:mended}\n"
    )
    assert run(["export", *arguments, "--to", "mermaid"]) == 2
    captured = capsys.readouterr()
    assert told in captured.err
    assert captured.out == ""


def test_steps_are_exported_as_they_are_unless_a_property_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = str(LEASE.with_suffix(".yaml"))
    assert run(["export", file, "--to", "json"]) == 0
    as_written = json.loads(capsys.readouterr().out)
    assert as_written["facts"][0] == {"fact": "block", "found": "reused", "met": True}
    named = ["--property", "no-overwrite-in-flight"]
    assert run(["export", file, "--to", "json", *named]) == 0
    explored = json.loads(capsys.readouterr().out)
    assert explored["property"]["name"] == "no-overwrite-in-flight"
    assert "facts" not in explored


def test_help_has_every_form(capsys: pytest.CaptureFixture[str]) -> None:
    run(["export", "--help"])
    out = capsys.readouterr().out
    for form in FORMS.values():
        assert re.search(f"^ +{form.name} +{re.escape(form.words[:20])}", out, re.MULTILINE)


def test_counterexamples_are_saved_in_other_forms(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = f"{LEASE}:world"
    run(["verify", target, "--save", str(tmp_path), "--forms", "markdown,mermaid"])
    (scenario,) = tmp_path.glob("*.yaml")
    markdown = scenario.with_suffix(".md").read_text("utf-8")
    assert f"rackproof replay {scenario}" in markdown
    assert scenario.with_suffix(".mmd").read_text("utf-8") in markdown
    assert run(["verify", target, "--forms", "markdown"]) == 2
    assert "--save DIR says where" in capsys.readouterr().err
    assert run(["verify", target, "--save", str(tmp_path), "--forms", "markdwn"]) == 2
    assert "did you mean markdown?" in capsys.readouterr().err
    assert run(["verify", target, "--save", str(tmp_path), "--forms", " ,"]) == 2
    assert "names none; there are: html, markdown" in capsys.readouterr().err


def test_what_is_saved_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    longest = (
        "\nimport attrs\nnamed = attrs.evolve(no_overwrite_in_flight, name='../' + 'x/' * 99)\n"
        "world = attrs.evolve(world, properties=(named,))\n"
    )
    for name in ("a_b.py", "a-b.py"):
        Path(name).write_text(LEASE.read_text("utf-8") + longest, "utf-8")
    run(["verify", "a_b.py:world", "a-b.py:world", "--save", "out"])
    names = sorted(path.name for path in Path("out").iterdir())
    stem = f"a-b-world-{'x-' * 39}x"
    assert names == [f"{stem}-2.yaml", f"{stem}.yaml"]
    assert run(["replay", f"out/{stem}-2.yaml"]) == 0


# Pictures that fail

PICTURED = """
def drawn(**parts):
    import attrs
    from rackproof.model.kernel import Belief, Lane, Message, Picture, Site
    lanes = (Lane("reader", "client"),)
    there = lambda *_: Message("reader", "reader")
    one = attrs.evolve(world, picture=Picture(**{{"lanes": lanes, "message": there, **parts}}))
    return one
def pictured():
    from rackproof.model.kernel import Belief, Lane, Message, Site
    return drawn(**{{{parts}}})
"""


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ("'message': lambda *_: 1 / 0", "ZeroDivisionError: division by zero"),
        ("'message': lambda *_: None", "the picture's message returned None, not a Message"),
        ("'message': lambda *_: Message('reader', 'raeder')", "but there is no lane 'raeder'"),
        ("'beliefs': lambda _: None", "the picture's beliefs returned None, not a list of Belief"),
        (
            "'beliefs': lambda _: [Belief('me', 'x', 'is', 'is', True)]",
            "there is no lane 'me'",
        ),
        ("'sites': lambda _: {'x': Site('well')}", "is not fine, busy, suspect or failed"),
        ("'lanes': None", "the lanes of the picture are None, not a tuple of Lane"),
        ("'lanes': (Lane('a', 'b'), Lane('a', 'c'))", "two are called 'a'"),
        ("'sentence': lambda *_: '{who} reads'", "{who} is none of what the step takes: reader"),
        ("'sentence': lambda *_: None", "the picture's sentence returned None, not a sentence"),
    ],
)
def test_a_picture_that_fails_takes_no_verdict_with_it(
    parts: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    text = LEASE.read_text("utf-8") + PICTURED.format(parts=parts)
    Path("drawn.py").write_text(text, "utf-8")
    forms = ["--save", "out", "--forms", "mermaid"]
    assert run(["verify", "drawn.py:pictured", "--explain", *forms]) == 2
    captured = capsys.readouterr()
    table, _, end = captured.out.partition("no-overwrite-in-flight  violated: 1 fault, 3 steps")
    assert "reader-0 starts to read the block" in table
    assert re.search(rf"drawn.py(:\d+)?: .*{re.escape(told)}", end)
    assert len([*Path("out").glob("*.mmd")]) == 1


def test_names_that_cannot_be_told_apart_are_refused() -> None:
    world = own_setting(LEASE, "world", f"{LEASE}:world").system
    (sort,) = {sort for t in world.transitions for _, sort in t.parameters}
    sizes = {**world.sizes, sort.name: 2}
    with pytest.raises(ModelError, match="two readers are called 'same'"):
        attrs.evolve(world, sizes=sizes, names={sort: ("same", "same")})


def test_an_output_that_is_closed_is_no_fault() -> None:
    words = ["verify", f"{LEASE}:world"]
    code = f"import sys; from rackproof.checker.cli import run; sys.exit(run({words}))"
    closed = ["sh", "-c", 'exec "$0" -Ic "$1" >&-', sys.executable, code]
    done = subprocess.run(closed, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr.startswith("stdout is closed")) == (2, True)
