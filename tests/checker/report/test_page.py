"""The page of one run, as a reader of its source and as a browser sees it."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pytest
import relay
from attrs import evolve
from browser import Browser, browser
from worlds import WORLDS

from rackproof.checker.explain import Explanation, Footing, Mend, Moment
from rackproof.checker.explain.drawn import message, picture
from rackproof.checker.explain.explanation import OPEN as UNTOLD
from rackproof.checker.explain.mends import FIX
from rackproof.checker.report.page import page, summary
from rackproof.checker.report.page.costs import costs
from rackproof.checker.report.page.course import course
from rackproof.checker.report.page.rack import Boxes, drawn_rack
from rackproof.checker.report.page.render import safe, spoken, words
from rackproof.checker.report.page.summary import what_happened
from rackproof.checker.report.page.turns import turns
from rackproof.checker.report.timed import InTime, Time, Way, WithinTimes
from rackproof.checker.trace import run
from rackproof.model.kernel import Belief, Firing, Site

__all__ = ["browser"]

pytestmark = pytest.mark.xdist_group("browser")
"""In one process, so that there is one browser."""

MADE = {
    "explained": relay.explained,
    "hostile": relay.hostile,
    "endless": relay.endless,
    "immediate": relay.immediate,
    "replayed": relay.replayed,
    "long": relay.long,
}
"""Runs of every sort; the browser sees all of them."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The file with the page of a run."""
    folder, known = tmp_path_factory.mktemp("pages"), dict[str, Path]()

    def made(name: str) -> Path:
        if name not in known:
            known[name] = folder / f"{name}.html"
            files = {"run.json": '{"a": "</script>"}', "run.md": "# \u00e4"}
            known[name].write_text(page(MADE[name](), {"All runs": "index.html"}, files))
        return known[name]

    return made


Pages = Callable[[str], Path]


# What is in it.


def test_it_is_one_file_that_names_nothing_else(pages: Pages) -> None:
    text = pages("explained").read_text()
    assert re.findall(r'(?:src|href)="(?!#|data:|index\.html)([^"]*)"', text) == [
        "https://example.org/issues/1"
    ]
    assert "default-src 'none'" in html.unescape(text)
    assert "url(" not in text


def test_it_is_the_same_each_time() -> None:
    assert page(relay.explained()) == page(relay.explained())


def test_two_hundred_steps_among_thirty_are_under_a_megabyte(pages: Pages) -> None:
    told = relay.long()
    assert len(told.moments) == 200
    assert len(told.lanes) == 32
    assert pages("long").stat().st_size < 1_000_000


def test_the_summary_tells_the_faults_the_pivot_the_end_and_the_mistake() -> None:
    told = [(s.step, s.words, s.mistake) for s in what_happened(relay.explained())]
    mistake = "From then on router believes that worker-1 is alive; in truth it is dead."
    assert told == [
        (None, "The run has 6 steps, 1 of them a fault.", ""),
        (1, "The client sends its request to the router.", ""),
        (5, "worker-1 crashes: its KV blocks are gone, and nobody is told.", mistake),
        (6, "The router hands the request to worker-1, which it takes for alive.", ""),
    ]


def test_the_summary_says_that_there_are_more_faults_than_it_tells() -> None:
    first = next(iter(what_happened(relay.long())))
    assert first.words.startswith("The run has 200 steps, 30 of them faults; the last 8 of these")


def test_the_summary_of_a_run_for_ever_ends_with_its_loop() -> None:
    *_, last = what_happened(relay.endless())
    assert last.words == "From then on steps 5 to 6 happen again and again, for ever."


def test_a_course_is_told_by_what_changes() -> None:
    told = course([{"a": "x", "b": "y"}, {"a": "x"}, {"a": "y", "c": "x"}])
    assert told.keys == ("a", "b", "c")
    assert [told.values[index] for index in told.start] == ["x", "y", None]
    assert [[told.values[v] for v in change[1::2]] for change in told.changes] == [
        [None],
        ["y", "x"],
    ]
    assert [change[::2] for change in told.changes] == [(1,), (0, 2)]


def test_the_state_after_each_step_is_in_it(pages: Pages) -> None:
    told, text = relay.explained(), pages("explained").read_text()
    found = re.search(r'<script type="application/json" id="courses">(.*?)</script>', text)
    assert found is not None
    state = json.loads(found[1])["state"]
    now = list(state["start"])
    for number, plain in enumerate(told.states):
        changes = state["changes"][number - 1] if number else []
        for key, value in zip(changes[::2], changes[1::2], strict=True):
            now[key] = value
        values = [state["values"][index] for index in now]
        assert dict(zip(state["keys"], values, strict=True)) == told.values(plain)


def test_no_belief_is_lost_where_two_are_of_one_subject(tmp_path: Path, browser: Browser) -> None:
    told = relay.doubled()
    file = tmp_path / "doubled.html"
    file.write_text(page(told))
    browser.open(file)
    rows = """
      document.querySelector(".true-ones").open = true;
      return [...document.querySelectorAll("#beliefs tbody tr, #true-beliefs tbody tr")].map(
        (row) => [...row.cells].map((cell) => cell.textContent));
    """
    browser.press(HOME)
    for moment in told.moments:
        browser.press(RIGHT)
        held = sorted(moment.beliefs, key=lambda belief: (belief.agrees, not belief.mistaken))
        assert browser.run(rows) == [[b.who, b.subject, b.believed, b.truth] for b in held]
    assert any(len(moment.mistaken) > 1 for moment in told.moments)


def belief(truth: str, believed: str = "is alive") -> Belief:
    return Belief("router", "worker-1", believed, truth, believed == truth)


def behind(truth: str) -> Belief:
    return evolve(belief(truth), behind=True)


@pytest.mark.parametrize(
    ("before", "after", "labels"),
    [
        ([belief("is alive")], [belief("is dead")], ["Now mistaken"]),
        ([belief("is dead")], [belief("is alive")], ["No longer mistaken"]),
        ([belief("is dead")], [belief("is frozen")], ["Still mistaken"]),
        ([belief("is dead")], [belief("is dead")], []),
        ([belief("is dead")], [], ["No longer held"]),
        ([belief("is alive")], [], []),
        ([], [belief("is dead")], ["Now mistaken"]),
        ([], [belief("is alive")], []),
        (
            [belief("is dead")],
            [belief("is dead", "is dead"), belief("is dead", "is up")],
            ["Now mistaken", "No longer held"],
        ),
        ([belief("is dead")], [belief("is dead"), belief("is dead")], ["Now mistaken"]),
        ([belief("is alive")], [behind("is dead")], ["Now behind"]),
        ([behind("is dead")], [belief("is dead")], ["Now mistaken"]),
        ([behind("is dead")], [belief("is alive")], ["No longer behind"]),
        ([behind("is dead")], [], []),
    ],
)
def test_where_belief_and_truth_part_and_meet(
    before: list[Belief], after: list[Belief], labels: list[str]
) -> None:
    assert [turn.label for turn in turns(before, after)] == labels


def test_names_are_not_broken_between_lines() -> None:
    told = words(
        "prefill-0 frees block-0@prefill-0 <b> after 500 us, it-is-a-name-that-is-far-too-long"
    )
    assert told == (
        '<span class="nb">prefill-0</span> frees <span class="nb">block-0@prefill-0</span> '
        "&lt;b&gt; after 500 \N{MICRO SIGN}s, it-is-a-name-that-is-far-too-long"
    )


def test_parts_that_are_alike_and_say_nothing_are_one_line() -> None:
    graph: nx.Graph[str] = nx.Graph()
    graph.add_node("tray", kind="tray")
    for name in ("gpu-0", "gpu-1", "gpu-2", "spare"):
        graph.add_node(name, kind="gpu", on="tray")
    graph.add_node("NICs", kind="nic", on="tray", count=4)
    sites = {
        "gpu-0": Site("fine"),
        "gpu-1": Site("failed"),
        "gpu-2": Site("fine"),
        "tray": Site("fine"),
    }
    (tray,) = Boxes(graph, sites, frozenset()).boxes()
    (several,) = tray.inner
    assert (several.name, several.condition, several.worst) == (
        "3 gpus",
        "1 failed, 2 fine",
        "failed",
    )
    assert tray.others == "1 gpu, 4 nics"
    assert len(Boxes(graph, sites, frozenset(["gpu-1"])).boxes()[0].inner) == 2


def in_time(verdict: InTime, *ways: Way) -> str:
    times = (Time("lease", "10 s", "a default", True), Time("hop", "1 ms", "measured", False))
    found = WithinTimes(verdict, (), times, ways)
    told = summary.in_time(evolve(relay.explained(), in_time=found))
    assert told is not None
    return told.words


def test_whether_it_is_possible_within_the_times_is_said_at_the_head() -> None:
    trace = relay.explained().trace
    lease = Way("lease", "lease >= 35 s", "10 s", "a default", trace)
    stream = Way("timeout", "timeout <= 5 s", "30 s", "a default", trace)
    assert in_time(InTime.POSSIBLE) == "Possible with lease 10 s"
    assert in_time(InTime.OPEN) == "Timing not settled"
    assert in_time(InTime.IMPOSSIBLE) == "Not possible with lease 10 s"
    assert in_time(InTime.IMPOSSIBLE, lease) == (
        "Not possible with lease 10 s; possible with lease >= 35 s"
    )
    assert in_time(InTime.IMPOSSIBLE, lease, stream) == (
        "Not possible with lease 10 s; possible with either lease >= 35 s or timeout <= 5 s"
    )


def test_moves_that_are_commands_can_be_copied_without_what_they_are_for() -> None:
    assert summary.command("rackproof guards a.yaml  # the test") == (
        "rackproof guards a.yaml",
        "the test",
    )
    assert summary.command("set release: heartbeat") == ("", "set release: heartbeat")


def test_a_mend_is_told_by_what_is_chosen() -> None:
    assert summary.changed_to("release: lease -> heartbeat") == ("release: heartbeat", "lease")
    mend = Mend(("a: b -> c",), "holds", FIX, ("x", f"y{UNTOLD}"))
    assert summary.verified(mend, "p") == "With it p holds in every run of this scope."
    assert summary.origin(mend) == "the fix named in the scenario"
    assert (summary.breaks(mend), summary.unclear(mend)) == (["x"], ["y"])
    assert not summary.is_clean([mend])
    assert summary.is_clean([evolve(mend, side_effects=mend.side_effects[1:])])
    assert not summary.is_clean([evolve(mend, verdict="inconclusive", side_effects=())])


def test_terms_that_a_page_uses_are_explained_on_it() -> None:
    assert [
        word.name for word in spoken("<p class=lease>636 state classes, every <b>fair</b> run</p>")
    ] == [
        "fair-run",
        "state-class",
    ]


def test_who_waits_and_what_is_spent() -> None:
    told = costs(relay.explained())
    assert told is not None
    ((client, waits),) = told.waits
    assert client == "client"
    assert [(float(wait.seconds), wait.until, wait.is_open) for wait in waits] == [
        (0.0205, 3, False),
        (0.0, 6, True),
    ]
    assert [(curve.name, curve.total) for curve in told.curves] == [
        ("bytes moved", "1.97 GB"),
        ("tokens recomputed", "3,000"),
        ("energy", "25.2 J"),
    ]


def test_the_rack_is_boxes_in_boxes() -> None:
    told = relay.explained()
    rack = drawn_rack(told.trace.system, told.states)
    assert rack is not None
    (whole,) = rack.boxes()
    assert (whole.name, whole.others) == ("rack", "1 tray")
    (tray,) = whole.inner
    assert [(box.name, box.site and box.site.condition) for box in tray.inner] == [
        ("worker-0", "fine"),
        ("worker-1", "failed"),
    ]


@pytest.mark.parametrize(
    "address", ["https://example.org/a", "http://example.org", "index.html", "a/b.html#step-3"]
)
def test_addresses_of_the_web_and_beside_the_page_are_links(address: str) -> None:
    assert safe(address) == address


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "//example.org/a",
        "/etc/passwd",
        "file:///etc/passwd",
        "http:alert",
        "https://[x",
        " javascript:alert(1)",
        "java\nscript:alert(1)",
    ],
)
def test_other_addresses_are_not(address: str) -> None:
    assert safe(address) is None


def test_addresses_in_a_source_are_links() -> None:
    told = evolve(relay.explained(), source="found in https://example.org/a?b=1&c and by hand")
    assert '<bdi>found in </bdi><a href="https://example.org/a?b=1&amp;c"' in page(told)


def test_names_stay_texts(pages: Pages) -> None:
    text = pages("hostile").read_text()
    assert text.count("<script") == 2
    assert "<img" not in text
    assert 'href="javascript' not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert r"line\nbreak\x1b[31m\u202egnp.exe" in text


def test_a_world_without_a_picture_has_a_page() -> None:
    system = WORLDS["lease"][0]()
    named = {t.name: t for t in system.transitions}
    path = [("start", (0,)), ("slow_read", ()), ("reuse", ())]
    trace = run(system, [Firing(named[name], arguments) for name, arguments in path])
    drawn = picture(system)
    moments = (Moment(n, s, message(drawn, s)) for n, s in enumerate(trace.steps, 1))
    footing, prop = Footing("rackproof verify lease.py:world"), system.properties[0]
    text = page(Explanation("A lease", trace, tuple(moments), drawn.lanes, footing, prop))
    assert "A read takes longer than the lease: the block is freed under its reader." in text
    assert 'id="rack"' not in text
    assert 'class="timeline"' not in text


# What a browser makes of it.

LEFT, RIGHT, HOME, END = "\ue012", "\ue014", "\ue011", "\ue010"
"""Keys, as WebDriver has them."""
CURRENT = "return document.querySelector('[aria-current=step]')?.id ?? null"


OPEN = "for (const each of document.querySelectorAll('details')) each.open = true"


@pytest.mark.parametrize("name", MADE)
def test_no_run_makes_a_browser_complain_or_fetch(
    name: str, pages: Pages, browser: Browser
) -> None:
    browser.open(pages(name))
    assert browser.complaints == []
    assert browser.requests == []
    assert browser.driver.title != "gone"
    browser.run(OPEN)
    for width in (1600, 400):
        browser.wide(width)
        assert browser.clipped == []


@pytest.mark.parametrize("name", ["explained", "endless", "replayed"])
def test_axe_finds_nothing(name: str, pages: Pages, browser: Browser) -> None:
    browser.open(pages(name))
    browser.run(OPEN)
    assert browser.axe() == []


def test_axe_finds_nothing_in_the_dark(pages: Pages, browser: Browser) -> None:
    browser.open(pages("explained"))
    browser.run(OPEN)
    browser.dark(True)
    assert browser.axe() == []
    browser.wide(400)
    assert browser.axe() == []


def test_what_is_clipped_or_hard_to_read_is_found(pages: Pages, browser: Browser) -> None:
    browser.open(pages("immediate"))
    browser.run("""
      const style = document.querySelector("h1").style;
      style.width = "3rem"; style.whiteSpace = "nowrap"; style.overflow = "hidden";
      style.color = "#ddd";
    """)
    assert [line.split(":")[0] for line in browser.clipped] == ["H1"]
    assert [line.split(":")[0] for line in browser.axe()] == ["color-contrast"]


def test_keys_go_through_the_steps(pages: Pages, browser: Browser) -> None:
    browser.open(pages("explained"))
    assert browser.run(CURRENT) == "step-5", "the first fault"
    seen = []
    for key in (HOME, RIGHT, "j", LEFT, "k", END, RIGHT):
        browser.press(key)
        seen.append(browser.run(CURRENT))
    assert seen == [None, "step-1", "step-2", "step-1", None, "step-6", "step-6"]
    browser.press("?")
    assert browser.run("return document.querySelector('#help').open")
    assert browser.complaints == []


def test_the_step_that_is_chosen_is_told_beside(pages: Pages, browser: Browser) -> None:
    browser.open(pages("explained"), "#step-5")
    told = browser.run("return document.querySelector('.inspector').innerText")
    assert "Step 5 of 6" in told
    assert "worker-1 crashes" in told
    assert "alive.worker-1" in told
    (row,) = browser.run(
        "return [...document.querySelectorAll('#beliefs .wrong')].map((row) => row.innerText)"
    )
    assert row.split("\t") == ["router", "worker-1", "is alive", "is dead"]
    conditions = "return [...document.querySelectorAll('#rack .condition')].map((e) => e.innerText)"
    assert browser.run(conditions) == ["busy", "failed"]
    browser.press(LEFT)
    assert browser.run(conditions) == ["busy", "fine"]
    live = browser.run("return document.querySelector('[aria-live]').textContent")
    assert live == "Step 4 of 6: The load of the cluster changes."


def test_the_full_state_follows_and_can_be_filtered(pages: Pages, browser: Browser) -> None:
    rows = """
      document.querySelector(".state").open = true;
      const filter = document.querySelector("#filter");
      filter.value = "HOLDER"; filter.dispatchEvent(new Event("input"));
      return [...document.querySelectorAll("#state tbody tr:not([hidden])")].map(
        (row) => [...row.cells].map((cell) => cell.innerText.trim()));
    """
    browser.open(pages("endless"), "#step-2")
    assert browser.run(rows) == [["holder", "none", "worker-0"]]


def test_a_link_to_a_step_of_two_hundred_shows_it(pages: Pages, browser: Browser) -> None:
    browser.open(pages("long"), "#step-150")
    row, box = browser.run("""
      const box = (each) => document.querySelector(each).getBoundingClientRect().toJSON();
      return [box("#step-150"), box(".diagram")];
    """)
    assert box["top"] >= 0
    assert box["top"] <= row["top"] <= row["bottom"] <= box["bottom"]
    assert row["bottom"] <= 900


def test_paper_has_every_step_with_what_it_changes(pages: Pages, browser: Browser) -> None:
    browser.open(pages("long"))
    text = browser.on_paper()
    told = relay.long()
    assert text.count("What it changes") == 200
    assert all(moment.step.words in text for moment in told.moments)


def test_it_can_be_printed(pages: Pages, browser: Browser) -> None:
    browser.open(pages("explained"))
    assert browser.printed().startswith(b"%PDF")
    assert browser.run("return document.querySelector('#inspected').innerText") == "Step 5 of 6"


def test_without_a_script_all_of_it_is_there(pages: Pages, browser: Browser) -> None:
    switch = "Emulation.setScriptExecutionDisabled"
    browser.driver.execute_cdp_cmd(switch, {"value": True})
    try:
        browser.open(pages("explained"))
        text = browser.driver.find_element("tag name", "body").text
    finally:
        browser.driver.execute_cdp_cmd(switch, {"value": False})
    assert "Step 5 of 6" not in text
    assert text.count("Why it was possible") == 6
    assert "Now mistaken: router believes that worker-1 is alive; in truth it is dead" in text
    assert "At the end of the run" in text
