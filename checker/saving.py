"""What a verification found, as files: counterexamples as scenarios, each of which replays to the
same violation, and proofs as certificates.
"""

from __future__ import annotations

import io
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
from attrs import field, frozen
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.representer import RoundTripRepresenter

from rackproof.checker.proof.certificate import certificate, write
from rackproof.checker.report.names import numbered, slug
from rackproof.checker.report.proofs import proofs
from rackproof.checker.report.screen import shown
from rackproof.checker.timing.amounts import in_one_unit
from rackproof.checker.timing.possible import possible
from rackproof.checker.trace import Trace
from rackproof.checker.verdicts import Result
from rackproof.checker.verify import WITH_FIX, Failure, Report, Run, failure
from rackproof.model.kernel import Property
from rackproof.scenarios.fields import Fields
from rackproof.scenarios.schema import VERSION, Scenario, Setting
from rackproof.scenarios.steps import kebab
from rackproof.scenarios.worlds import split_target


@frozen
class Saved:
    """The files that were written, by the result (its identity) that each replays; certificates by
    the proof. failures: why some are not there.
    """

    files: Mapping[int, Path] = field(factory=dict)
    certificates: Mapping[int, Path] = field(factory=dict)
    failures: Sequence[Failure] = ()


def save(reports: Iterable[Report], folder: Path, forms: Sequence[str] = ()) -> Saved:
    """Write a scenario for each violation that counts, and a certificate for each proof.

    forms: others in which each violation is to be written, explained, beside its scenario.
    """
    files: dict[int, Path] = {}
    certificates: dict[int, Path] = {}
    failures: list[Failure] = []
    taken: set[str] = set()
    folder.mkdir(parents=True, exist_ok=True)

    def place(text: str) -> Path:
        taken.add(stem := numbered(text, taken.__contains__))
        return folder / stem

    for report in reports:
        for run in report.runs:
            for result in run.results:
                if result.trace is not None and result.judged and report.scenario is not None:
                    path = place(_stem(report, run, result.prop.name)).with_suffix(".yaml")
                    path.write_text(_counterexample(report.scenario, run, result, folder), "utf-8")
                    failures += _write_forms(report, run, result, path, forms)
                    files[id(result)] = path
            for proof, names in proofs(run):
                more = f"-and-{len(names) - 1}-more" if len(names) > 1 else ""
                path = place(_stem(report, run, names[0]) + more).with_suffix(".smt2")
                write(certificate(report.world, run.label, proof), path)
                certificates[id(proof)] = path
    return Saved(files, certificates, failures)


def _write_forms(
    report: Report, run: Run, result: Result, path: Path, forms: Sequence[str]
) -> Iterator[Failure]:
    """A violation, explained, in each of the forms, beside the scenario that replays it; yields why
    it cannot be.
    """
    if not forms:
        return
    from rackproof.checker.explain import asked, explain  # noqa: PLC0415
    from rackproof.checker.report.forms import FORMS  # noqa: PLC0415

    again = asked.line("replay", str(path))
    deep = any(FORMS[name].is_deep for name in forms)
    try:
        explained = attrs.evolve(explain(report, run, result, again, deep=deep), folder=path.parent)
        for form in (FORMS[name] for name in forms if name != "yaml"):
            path.with_name(path.stem + form.suffix).write_text(form.write(explained), "utf-8")
    except OSError:
        raise
    except (Exception, SystemExit) as error:
        yield failure(error, report.scenario)


def _counterexample(scenario: Scenario, run: Run, result: Result, folder: Path) -> str:
    assert result.trace is not None, "only a violation has a counterexample"
    described = origin(run.case.setting, scenario.path.parent, folder)
    return as_yaml(result.trace, result.prop, scenario.name, scenario.source, described)


def as_yaml(
    trace: Trace,
    prop: Property | None,
    title: str,
    source: str | None,
    origin: Mapping[str, Any],
    facts: Mapping[str, str] | None = None,
) -> str:
    """The scenario that replays a run; origin: the keys that describe its world.

    prop: what it violates, if anything. facts: what is so at its end, beside what it changed.
    """
    length = {"steps": trace.lead, "faults": trace.faults}
    document = CommentedMap()
    document["rackproof"] = VERSION
    outcome = f"{prop.name} is violated" if prop else ""
    document["name"] = title if title.endswith(outcome) else f"{title}: {outcome}"
    if source:
        document["source"] = source
    document.update(origin)
    if prop:
        document["expect"] = _flow({prop.name: _flow({"violated": _flow(length)})})
    pauses = itertools.chain(_pauses(trace), itertools.repeat(None))
    document["steps"] = [
        _step(step.firing, trace, pause) for step, pause in zip(trace.steps, pauses, strict=False)
    ]
    if trace.loop is not None:
        document["loop"] = trace.loop + 1
    ending = {**_changed(trace), **(facts or {}), **({prop.name: "violated"} if prop else {})}
    if ending:
        document["then"] = ending
    return as_text(document)


def as_text(document: Mapping[str, Any]) -> str:
    """A scenario as it is written, key by key."""
    out = io.StringIO()
    yaml = YAML()
    yaml.Representer = _Inert
    yaml.width = 100
    yaml.dump(document, out)
    return shown(out.getvalue())


class _Inert(RoundTripRepresenter):
    """Puts between quotes, where it can be escaped, what would steer whoever reads the file."""

    def represent_str(self, data: str) -> Any:
        """A text."""
        style = None if shown(data) == data else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Inert.add_representer(str, _Inert.represent_str)


def origin(setting: Setting, base: Path, folder: Path) -> dict[str, Any]:
    """What describes a world whose relative paths begin in ``base``, to be read in ``folder``."""

    def seen(file: Path) -> str:
        return os.path.relpath(file.resolve(), folder.resolve())

    if setting.file is not None:
        _, name = split_target(str(setting.origin["world"]))
        return {"world": f"{seen(setting.file)}:{name}"}
    described = {key: _flow(value) for key, value in setting.origin.items()}
    if "path" in described.get("rack", ()):
        described["rack"]["path"] = seen(base / described["rack"]["path"])
    return described


def _step(firing: Any, trace: Trace, pause: str | None) -> Any:
    name, chosen = kebab(firing.transition.name), firing.named(trace.system)
    if pause is not None:
        return _flow({name: chosen, "after": pause})
    return {name: _flow(chosen)} if chosen else name


def _pauses(trace: Trace) -> Iterator[str | None]:
    """The time before each step in a run as early as it can be, where its world says."""
    timing = possible(trace)
    times = (Fraction(0), *timing.times) if timing and timing.times else ()
    for before, after in itertools.pairwise(times):
        yield in_one_unit(after - before) if after > before else None


def _changed(trace: Trace) -> dict[str, Any]:
    """The fields that the run changed, with their values at its end."""
    fields = Fields(trace.system)
    last = {change.label: change.after for step in trace.steps for change in step.changes}
    return {
        label: _flow(fields.by_label[label].data(value))
        for label, value in last.items()
        if label in fields.by_label
    }


def _flow(value: Any) -> Any:
    """A map or a list that is written on one line."""
    flowing: CommentedMap | CommentedSeq
    if isinstance(value, Mapping):
        flowing = CommentedMap({key: _flow(item) for key, item in value.items()})
    elif isinstance(value, list):
        flowing = CommentedSeq(value)
    else:
        return value
    flowing.fa.set_flow_style()
    return flowing


def _stem(report: Report, run: Run, name: str) -> str:
    """A file name from the target and the property."""
    target = report.target.removesuffix(".yaml").removesuffix(".yml")
    fixed = "with the fix" if run.label == WITH_FIX else ""
    parts = (target.replace(".py:", "-"), name, fixed)
    return "-".join(filter(None, map(slug, parts))) or "unnamed"
