"""An explanation as one HTML page: the template filled in, its style and script inside.

Every text that is put in is escaped twice: characters that steer (control characters, marks that
turn the direction of writing) are told by their codes, and then HTML's own signs are escaped.
"""

from __future__ import annotations

import base64
import hashlib
import mimetypes
import re
import urllib.parse
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import attrs
from jinja2 import Environment
from markupsafe import Markup

from rackproof.checker.explain import Explanation
from rackproof.checker.explain.drawn import picture
from rackproof.checker.glossary import TERMS, Word
from rackproof.checker.report.counterexample import few_faults
from rackproof.checker.report.escaping import visible
from rackproof.checker.report.page import summary
from rackproof.checker.report.page.costs import computes_again, costs
from rackproof.checker.report.page.course import course, script_data
from rackproof.checker.report.page.diagram import Diagram
from rackproof.checker.report.page.rack import drawn_rack
from rackproof.checker.report.page.turns import keyed, standing
from rackproof.checker.report.setting import meaning, source_label
from rackproof.checker.report.steps import changed
from rackproof.checker.report.templating import environment
from rackproof.checker.report.templating import style as page_style
from rackproof.checker.report.timed import Time, times_of
from rackproof.checker.timing.amounts import in_units
from rackproof.checker.timing.possible import amount_in_words
from rackproof.model.kernel import Belief, Charge, Site

HERE: Final = Path(__file__).parent
FEW: Final = 6
"""Steps of another run that are told at once; the rest is folded."""
LINKED: Final = ("http", "https")


def page(
    explanation: Explanation,
    links: Mapping[str, str] = {},
    files: Mapping[str, str] = {},
    beside: Mapping[str, str] = {},
) -> str:
    """One run as a page that needs nothing beside itself.

    links: other pages by what they are called, as addresses seen from this one. The run in other
    forms: files: texts by the names of files, which the page takes along; beside: by what they are
    called, addresses of files that lie elsewhere.
    """
    told = explanation
    diagram = Diagram(told)
    sizes = f":root{{--pitch:{diagram.pitch}px;--across:{diagram.width}px}}\n"
    style = Markup(sizes) + page_style(HERE / "page.css")
    script = Markup((HERE / "page.js").read_text("utf-8"))
    template = _environment().get_template("page.html.j2")
    return template.render(
        told=told,
        trace=told.trace,
        count=len(told.moments),
        diagram=diagram,
        rows=_rows(told, diagram),
        initial=_initial(told),
        beliefs=_beliefs(told)[-1],
        believed=any(_beliefs(told)),
        times=_times(told),
        same_steps=_same_steps(told),
        few=FEW,
        spoken=spoken,
        source_label=source_label,
        rack=drawn_rack(told.trace.system, told.states),
        costs=costs(told),
        total=_total(told),
        summary=summary,
        chances=summary.chances(told),
        start=summary.start(told),
        is_replay=bool(told.facts or told.complaints or told.prop is None),
        data=script_data(_courses(told)),
        style=style,
        script=script,
        policy=_policy(style, script),
        few_faults=few_faults,
        meaning=partial(meaning, told.setting),
        links=_safe(links),
        beside=_safe(beside),
        files=[(name, _data(name, text), len(text.encode())) for name, text in files.items()],
        source=_linked(told.source or ""),
    )


def _environment() -> Environment:
    """The templates, with what they do to texts."""
    made = environment(HERE, visible)
    made.filters["time"] = lambda seconds: micro(in_units(seconds))
    made.filters["micro"] = micro
    made.filters["words"] = words
    made.filters["coded"] = coded
    made.filters["visible"] = visible
    made.filters["standing"] = standing
    return made


_NAME: Final = re.compile(r"(?<![\w-])(?=[\w.@\[\]-]{3,30}(?![\w-]))[\w.@\[\]]+(?:-[\w.@\[\]]+)+")
"""A name that a line had better not break in."""
_MICRO: Final = re.compile(r"(?<=\d )us\b")


def micro(text: str) -> str:
    """A text with microseconds as they are written where there are all signs."""
    return _MICRO.sub("\N{MICRO SIGN}s", text)


def words(text: str) -> Markup:
    """A text in which no name of a few parts is broken between lines, and with its units."""
    plain, found, at = micro(visible(text)), Markup(), 0
    for name in _NAME.finditer(plain):
        whole = Markup('<span class="nb">{}</span>').format(name[0])
        found, at = found + plain[at : name.start()] + whole, name.end()
    return found + plain[at:]


def coded(text: str) -> Markup:
    """A text in which what stands between back ticks is code."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        return words(text)
    code = Markup("<code>{}</code>")
    return Markup().join(
        code.format(visible(piece)) if number % 2 else words(piece)
        for number, piece in enumerate(pieces)
    )


def safe(address: str) -> str | None:
    """An address that a reader may be led to: of the web, or of a file beside this one."""
    try:
        parts = urllib.parse.urlsplit(address)
    except ValueError:
        return None
    beside = not parts.scheme and not parts.netloc and not address.startswith(("/", "\\"))
    return address if beside or (parts.scheme in LINKED and parts.netloc) else None


def _linked(text: str) -> list[tuple[str, bool]]:
    """A text in pieces, with whether each is an address of the web."""
    pieces = re.split(r"(https?://[^\s<>\"']+)", text)
    return [(piece, number % 2 == 1) for number, piece in enumerate(pieces) if piece]


def _safe(addresses: Mapping[str, str]) -> dict[str, str]:
    """Those of some addresses that a reader may be led to."""
    return {name: address for name, address in addresses.items() if safe(address)}


def _policy(style: str, script: str) -> str:
    """What a browser may use: this style and this script, and nothing from anywhere."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _data(name: str, text: str) -> str:
    """A file as an address that holds it."""
    kind = mimetypes.guess_type(name)[0] or "text/plain"
    return f"data:{kind};base64,{base64.b64encode(text.encode(errors='replace')).decode()}"


def _rows(told: Explanation, diagram: Diagram) -> list[dict[str, Any]]:
    """Each step: as it is drawn, what it changed and cost, which fault it is, whose mistake."""
    faults, found = 0, []
    for row, some in zip(diagram.rows, summary.course_of_beliefs(told), strict=True):
        moment = row.moment
        faults += moment.step.is_fault
        found.append(
            {
                "row": row,
                "moment": moment,
                "kind": moment.step.firing.transition.kind,
                "fault": faults if moment.step.is_fault else 0,
                "changes": list(changed(moment.step, told.fields)),
                "cost": amount_in_words(_telling(told, moment.charge)),
                "turns": some,
                "wrong": [turn for turn in some if turn.is_new],
                "repeats": told.trace.loop is not None and moment.number > told.trace.loop,
            }
        )
    return found


def _telling(told: Explanation, charge: Charge | None) -> Charge:
    """What a step costs, without energy where nothing is computed again."""
    charge = charge or Charge()
    return charge if computes_again(told) else attrs.evolve(charge, joules=0.0)


def _total(told: Explanation) -> list[str]:
    charges = [_telling(told, moment.charge) for moment in told.moments]
    return amount_in_words(sum(charges[1:], charges[0])) if charges else []


def _initial(told: Explanation) -> list[tuple[str, str, str, bool]]:
    """Each field: its name, its values at the start and the end, whether the property reads it."""
    first, last = told.values(told.states[0]), told.values(told.trace.final)
    return [
        (told.name(field), first[field.label], last[field.label], field.label in told.reads)
        for field in told.fields.all
    ]


def _times(told: Explanation) -> Sequence[Time]:
    """The times that a run, or the one that is compared with it, depends on."""
    if told.in_time is not None:
        return told.in_time.times
    return times_of(told.timing) if told.timing else ()


def _same_steps(told: Explanation) -> bool:
    """Whether the run that is possible has the steps of the run itself."""
    shown = told.in_time.shown if told.in_time else None
    if shown is None:
        return False
    own, others = told.trace.steps, shown.timing.trace.steps
    return [str(step.words) for step in own] == [str(step.words) for step in others]


def spoken(html: str) -> list[Word]:
    """The terms that a page uses."""
    text = re.sub(r"<[^>]*>", "", html).lower()
    names = {word.name: word.name.replace("-", " ") for word in TERMS.values()}
    return [w for w in TERMS.values() if re.search(rf"\b{names[w.name]}(s|es)?\b", text)]


def _beliefs(told: Explanation) -> list[Sequence[Belief]]:
    """What is believed in each state, what is wrong first."""
    first = picture(told.trace.system).beliefs(told.trace.system.initial)
    every = [first, *(moment.beliefs for moment in told.moments)]
    return [sorted(some, key=lambda b: (b.agrees, not b.mistaken)) for some in every]


def _courses(told: Explanation) -> dict[str, object]:
    """For the script: all that differs from state to state."""
    drawn, states = picture(told.trace.system), told.states
    return {
        "state": course([told.values(state) for state in states]).data,
        "beliefs": course([_believed(beliefs) for beliefs in _beliefs(told)]).data,
        "sites": course([_stands(drawn.sites(state)) for state in states]).data,
    }


def _believed(beliefs: Sequence[Belief]) -> dict[str, tuple[str, ...]]:
    return {
        "\0".join(map(str, key)): (b.who, b.subject, b.believed, b.truth, standing(b))
        for key, b in keyed(beliefs).items()
    }


def _stands(sites: Mapping[str, Site]) -> dict[str, tuple[str, ...]]:
    return {name: (site.condition, *site.words) for name, site in sites.items()}
