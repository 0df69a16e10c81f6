"""The report as JSON: a list with one object for each target."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from rackproof.checker.exams import Examined
from rackproof.checker.explain.explanation import Footing
from rackproof.checker.explain.footing import as_data as footing_as_data
from rackproof.checker.explain.footing import of_replay
from rackproof.checker.replay import Replayed, seen
from rackproof.checker.report import proofs, repair, sampling, stack
from rackproof.checker.report.setting import effective
from rackproof.checker.timing.possible import Possible, charges, possible
from rackproof.checker.trace import Change, Trace
from rackproof.checker.verdicts import Result
from rackproof.checker.verify import WITH_FIX, Report, Run
from rackproof.scenarios.changes import as_map
from rackproof.scenarios.fields import Fields
from rackproof.scenarios.schema import Scenario, Setting
from rackproof.scenarios.steps import kebab

if TYPE_CHECKING:
    from rackproof.checker.explain import Explanation, Moment
    from rackproof.model.kernel import Property


def as_data(report: Report, footing: Footing | None = None) -> dict[str, Any]:
    """One target as plain lists, maps, texts and numbers; footing: what it says of itself."""
    data: dict[str, Any] = {
        "scenario": report.name,
        "target": report.target,
        "status": int(report.status),
        "seconds": round(report.seconds, 6),
    }
    if report.options.changes:
        data["set"] = as_map(report.options.changes)
    if isinstance(report, Examined):
        data.update(_examined(report))
    elif report.scenario is not None:
        data["source"] = report.scenario.source
        data.update({"scope": {}, **_setting(report.scenario.case.setting)})
    for run in () if isinstance(report, Examined) else report.runs:
        told = {"properties": _properties(run), "coverage": _coverage(run)}
        if run.label == WITH_FIX:
            data["fix"] = {**_setting(run.case.setting), **told}
        else:
            data.update(told)
    if report.replayed is not None:
        trace = report.replayed.trace
        data["replay"] = {"steps": trace_as_data(trace), **_loop(trace)}
    if report.diagnosis is not None:
        data.update(repair.as_data(report.diagnosis))
    if report.complaints:
        data["complaints"] = report.complaints
    if footing is not None and report.runs:
        data.update(footing_as_data(footing))
    return data


def _examined(report: Examined) -> dict[str, Any]:
    """A stack in its exams: how each was explored, and the result that decides each property."""
    guards = [str(guard) for guard in report.guards]
    return {
        "exams": [
            {"name": run.label, **_setting(run.case.setting), **_explored(run)}
            for run in report.runs
        ],
        "properties": [
            {**_result(run, result), **stack.as_data(report, run, result)}
            for run, result in report.judged
        ],
        "coverage": {
            "never_fired": [kebab(name) for name in report.idle],
            **({"guards": guards} if guards else {}),
        },
    }


def replay_as_data(scenario: Scenario, run: Replayed) -> dict[str, Any]:
    """A replayed run as plain lists, maps, texts and numbers."""
    return {
        "scenario": scenario.name,
        "target": str(scenario.path),
        **_setting(scenario.case.setting),
        "steps": [
            _without_none({**data, "after": step.after})
            for data, step in zip(trace_as_data(run.trace, run.timing), run.steps, strict=False)
        ],
        **({"timing": timing_as_data(run.timing)} if run.timing else {}),
        **_loop(run.trace),
        "then": {fact.key: seen(run, fact) for fact in run.facts},
        "complaints": list(run.complaints),
        **footing_as_data(of_replay(scenario, run)),
    }


def _setting(setting: Setting) -> dict[str, Any]:
    """The keys that describe a setting; of the bundled world's scope and rack, with defaults."""
    return {**setting.origin, **effective(setting)}


def _properties(run: Run) -> list[dict[str, Any]]:
    return [_result(run, result) for result in run.results]


def _coverage(run: Run) -> dict[str, Any]:
    """The transitions that never took effect: those that might have, and those that could not."""
    findings = run.findings
    return {
        "never_fired": [kebab(name) for name in findings.idle],
        "impossible": [kebab(name) for name in findings.impossible],
        **({"guards": [str(guard) for guard in run.coverage.guards]} if run.coverage else {}),
        **({"sampled": sampling.as_data(findings.sampled)} if findings.sampled else {}),
    }


def _explored(run: Run) -> dict[str, Any]:
    findings = run.findings
    return {
        "engine": findings.engine,
        "states": findings.states,
        "transitions": findings.transitions,
        "depth": findings.depth,
        "seconds": round(findings.seconds, 6),
        **({"note": findings.note} if findings.note else {}),
    }


def _result(run: Run, result: Result) -> dict[str, Any]:
    data: dict[str, Any] = {
        "name": result.prop.name,
        "verdict": result.verdict.value,
        "judged": result.judged,
        "met": result.complaint is None,
        **_explored(run),
    }
    if result.reason:
        data["reason"] = result.reason
    if result.expected is not None:
        data["expected"] = _without_none(
            {
                "verdict": result.expected.verdict,
                "steps": result.expected.steps,
                "faults": result.expected.faults,
            }
        )
    if result.proof is not None:
        data["proof"] = proofs.as_data(result.proof)
    if result.trace is not None:
        trace, prop = result.trace, result.prop
        culprits, broken = trace.culprits(prop), trace.broken(prop)
        data["counterexample"] = _violation(
            trace, possible(trace), culprits, broken, result.fewest_faults
        )
    return data


def _violation(
    trace: Trace,
    timing: Possible | None,
    culprits: Sequence[Mapping[str, str]],
    broken: Sequence[str],
    fewest: bool,
) -> dict[str, Any]:
    """A counterexample: for whom a property fails, what is so instead, where it says that, the
    steps, and when these are possible. fewest: whether no run with fewer faults violates it.
    """
    return {
        "faults": trace.faults,
        "fewest_faults": fewest,
        "for": [*culprits],
        **({"broken": [*broken]} if broken else {}),
        "steps": trace_as_data(trace, timing),
        **({} if timing is None else {"timing": timing_as_data(timing)}),
        **_loop(trace),
    }


def explanation_as_data(explained: Explanation) -> dict[str, Any]:
    """A run, explained: what ``verify --json`` has of a counterexample, and more.

    ``title``, ``source``, ``scope``; ``property`` with ``statement``, ``why`` and ``verdict`` (not
    of a replay); ``lanes``: who takes part, each a ``name`` and a ``kind``. ``initial``: the values
    of all fields at the start, by path. Each of ``steps`` has beside what every trace has its
    ``number``, the ``message`` (``source`` and ``target``, names of lanes), the ``state`` after it,
    ``why`` (tests: ``text``, and ``since``, the step that made it so, or null), ``causes`` (numbers
    of steps), ``users`` (by a field that it changed, the steps that depend on that; 0: the
    violation), ``matters``, ``needed`` (null: not asked) and ``beliefs`` (``who``, ``subject``,
    ``believed``, ``truth``, ``agrees``, ``behind``). Where they are known: ``broken`` (sentences),
    ``where``, ``outcome``, ``reads`` (fields), ``failing`` and ``stays`` (tests), ``enough``
    (steps), ``necessity``, ``timing_words``, ``pivot``, ``near_miss`` (``steps``, ``parts``: the
    number of the first that differs, ``words``), ``smallest``, ``mends``, ``facts`` and
    ``complaints`` of a replay; ``unexplained`` and ``untold``: what could not be found out.
    ``footing``: ``reproduce``, ``not_checked``, ``next_moves``. What each means is told in
    ``checker/explain/explanation.py``.
    """
    trace, prop = explained.trace, explained.prop
    culprits, broken = explained.culprits, explained.broken
    run = _violation(trace, explained.timing, culprits, broken, explained.fewest_faults)
    steps = zip(run["steps"], explained.moments, strict=True)
    near = explained.near_miss
    told = {
        "source": explained.source,
        "scope": explained.scope,
        "where": explained.where,
        "outcome": explained.outcome,
        "reads": list(explained.reads),
        "failing": _data(explained.failing),
        "stays": _data(explained.stays),
        "enough": list(explained.enough),
        "necessity": list(explained.necessity),
        "timing_words": list(explained.timing_words),
        "pivot": _data(explained.pivot),
        "near_miss": near
        and {"parts": near.parts, "words": near.words, "steps": trace_as_data(near.trace)},
        "smallest": _data(explained.smallest),
        "mends": _data(explained.mends),
        "facts": [{"fact": f, "found": found, "met": met} for f, found, met in explained.facts],
        "complaints": list(explained.complaints),
        "unexplained": explained.unexplained,
        "untold": list(explained.untold),
    }
    return {
        "title": explained.title,
        **({} if prop is None else _property(prop, explained.verdict)),
        "lanes": _data(explained.lanes),
        "initial": _state(explained, trace.system.initial),
        **run,
        "steps": [{**data, **_moment(explained, moment)} for data, moment in steps],
        **{key: value for key, value in told.items() if value},
        "footing": _data(explained.footing),
    }


def _property(prop: Property, verdict: str) -> dict[str, Any]:
    told = {"name": prop.name, "statement": prop.statement, "why": prop.why, "verdict": verdict}
    return {"property": _without_none(told)}


def _moment(explained: Explanation, moment: Moment) -> dict[str, Any]:
    """What an explanation has to say of a step beside what a trace has."""
    return {
        "number": moment.number,
        "message": _data(moment.message),
        "why": _data(moment.why),
        "causes": list(moment.causes),
        "users": _data(moment.users),
        "matters": moment.matters,
        "needed": moment.needed,
        "beliefs": _data(moment.beliefs),
        "state": _state(explained, moment.step.after),
    }


def _state(explained: Explanation, state: Any) -> dict[str, Any]:
    """Each field by its whole path."""
    ordinals = explained.trace.system.schema.flatten(state)
    return {field.label: field.data(field.value(ordinals)) for field in explained.fields.all}


def _data(value: Any) -> Any:
    """Attributes, nested, as maps; tuples as lists."""
    if attrs.has(type(value)):
        return {a.name: _data(getattr(value, a.name)) for a in attrs.fields(type(value))}
    if isinstance(value, Mapping):
        return {key: _data(item) for key, item in value.items()}
    return [_data(item) for item in value] if isinstance(value, tuple) else value


def timing_as_data(timing: Possible) -> dict[str, Any]:
    """Whether a run is possible by default, and under which conditions; None: too large to tell."""
    by_choice, by_all = timing.by_choice, timing.by_all
    data = {
        "possible": timing.is_possible,
        "conflict": timing.conflict,
        "chosen": sorted(timing.chosen),
        "condition": None if by_choice is None else list(by_choice.words),
        "condition_on_all": None if by_all is None else list(by_all.words),
    }
    return {key: value for key, value in data.items() if key != "conflict" or value}


def _loop(trace: Trace) -> dict[str, int]:
    """The number of the step, from one on, with which the loop begins, where there is one."""
    return {} if trace.loop is None else {"loop": trace.loop + 1}


def trace_as_data(trace: Trace, timing: Possible | None = None) -> list[dict[str, Any]]:
    """The steps of a run; with when each can happen and what it costs, where that is known."""
    fields = Fields(trace.system)
    times = itertools.chain(timing.times if timing else (), itertools.repeat(None))
    costs = itertools.chain(charges(trace), itertools.repeat(None))
    return [
        {
            "transition": kebab(step.firing.transition.name),
            "arguments": step.firing.named(trace.system),
            "kind": step.firing.transition.kind.value,
            "changes": [_change(change, fields) for change in step.changes],
            "explanation": step.words,
            **({} if time is None else {"at_s": float(time)}),
            **({} if cost is None else {"cost": attrs.asdict(cost)}),
        }
        for step, time, cost in zip(trace.steps, times, costs, strict=False)
    ]


def _change(change: Change, fields: Fields) -> dict[str, Any]:
    field = fields.by_label[change.label]
    return {
        "field": change.label,
        "before": field.data(change.before),
        "after": field.data(change.after),
    }


def _without_none(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if value is not None}
