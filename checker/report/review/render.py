"""The pages of a report: templates filled in, each page with its style and script inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import frozen
from markupsafe import Markup

from rackproof.checker.engines import Options
from rackproof.checker.machines import merged
from rackproof.checker.machines.drawing import drawing
from rackproof.checker.report.page.render import safe
from rackproof.checker.report.review import overview
from rackproof.checker.report.review.bars import bars
from rackproof.checker.report.review.folder import Folder
from rackproof.checker.report.review.found import Found
from rackproof.checker.report.review.matrix import MEANINGS, SIGNS, matrix
from rackproof.checker.report.review.recovery import recovery
from rackproof.checker.report.review.study import Study
from rackproof.checker.report.review.told import certificates, entry
from rackproof.checker.report.review.violations import Violation, pages
from rackproof.checker.report.screen import shown
from rackproof.checker.report.setting import source_label
from rackproof.checker.report.templating import environment, style
from rackproof.checker.status import Status
from rackproof.checker.verdicts import Result

HERE: Final = Path(__file__).parent
SHALLOW: Final = (
    "Of the {deep} gravest counterexamples alone it was looked for what would have saved them, and "
    "for the smallest scope. Name fewer targets, or give --full."
)

GO_ON: Final = "Make the whole report"


@frozen
class Site:
    """All that a report is written from. command: the line that makes it again."""

    title: str
    found: Found
    command: str
    folder: Folder
    options: Options

    @property
    def studies(self) -> Sequence[Study]:
        """The targets that were looked at."""
        return self.found.studies

    def files(self) -> dict[str, str]:
        """Every file of the report, by its name."""
        reports = [study.report for study in self.studies]
        found = self.found.explaining.told
        proofs, texts = certificates(reports, self.folder)
        places = {id(one.result): one.page for one in found}

        def linked(result: Result) -> str | None:
            return places.get(id(result)) or proofs.get(id(result.proof))

        parts = self._parts()
        others = {name: f"{page}.html" for page, (name, _) in parts.items()}
        back = {"Review": "index.html", **others}
        files = {"index.html": self._index(found, others, linked, proofs), **texts}
        for page, (name, told) in parts.items():
            files[f"{page}.html"] = _rendered(page, self, heading=name, pages=back, **told)
        for one in found:
            files |= pages(one, back)
        return files

    def _shallow(self, found: int) -> list[str]:
        deep = self.found.explaining.deep
        return [SHALLOW.format(deep=deep)] if deep and found > deep else []

    def _parts(self) -> dict[str, tuple[str, dict[str, Any]]]:
        """The pages beside the index: what each is called, and what it tells."""
        parts: dict[str, tuple[str, dict[str, Any]]] = {}
        machines = merged(m for s in self.studies for c in s.covered.values() for m in c.machines)
        if machines:
            drawn = [(m, drawing(m)) for m in machines if m.changes]
            still = [m for m in machines if not m.changes]
            parts["machines"] = "State machines", {"drawn": drawn, "still": still}
        if (seen := recovery([one for s in self.studies for one in s.survivals])) is not None:
            parts["recovery"] = "What survives", {"map": seen}
        costs = [study.cost for study in self.studies if study.cost is not None]
        if costs:
            parts["costs"] = "What recovery costs", {"costs": [(c, bars(c)) for c in costs]}
        return parts

    def _index(
        self,
        found: Sequence[Violation],
        others: Mapping[str, str],
        linked: Any,
        proofs: Mapping[int, str],
    ) -> str:
        studies, reports = self.studies, [study.report for study in self.studies]
        whole, of = self.found, self.found.of
        firings = overview.firings(studies)
        names = [report.file.stem if report.file else report.target for report in reports]
        return _rendered(
            "index",
            self,
            heading=self.title,
            pages=others,
            headline=overview.headline(whole),
            fine=all(r.status is Status.OK for r in reports) and not whole.interrupted,
            counts=list(overview.counts(studies, of)),
            violations=found,
            top=found[: overview.SHOWN],
            not_checked=[
                *whole.unseen,
                *overview.not_checked(studies),
                *overview.untried(firings),
                *whole.left_out,
                *self._shallow(len(found)),
            ],
            next_moves=[
                *([(GO_ON, self.command)] if whole.interrupted else []),
                *overview.next_moves(studies, found, str(self.folder.path / "counterexamples")),
            ],
            matrix=matrix(reports, names, linked),
            signs=SIGNS,
            meanings=MEANINGS,
            firings=firings,
            partly=sum(bool(c.reason) for study in studies for c in study.covered.values()),
            guards=overview.idle_guards(studies),
            entries=[entry(study, self.options, linked, proofs) for study in studies],
        )


def _rendered(page: str, site: Site, **told: Any) -> str:
    made = environment(HERE, shown)
    made.filters["safe_address"] = safe
    made.filters["source_label"] = source_label
    template = made.get_template(f"{page}.html.j2")
    script = Markup((HERE / "review.js").read_text("utf-8"))
    return template.render(site=site, style=style(HERE / "review.css"), script=script, **told)
