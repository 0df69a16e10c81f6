"""What does it cost to move a request's KV over a rack: by NVLink, network, to host or store?"""

from __future__ import annotations

from typing import Final

from attrs import frozen

from rackproof.checker.performance.answers import Answer, Column, Table, Unit
from rackproof.checker.performance.engines import engines
from rackproof.checker.performance.study import Study
from rackproof.model.kernel import ModelError
from rackproof.model.performance.nodes import Node, nodes
from rackproof.model.performance.paths import Fabric, Messages
from rackproof.model.performance.questions.paths import Transfer, transfers
from rackproof.model.performance.roofline import Engine
from rackproof.model.rack import Part, Placement, Rack, place, preset

CONTEXTS: Final = (3000, 32_768)
COLUMNS: Final = (
    Column("from", "source"),
    Column("to", "target"),
    Column("over", "way"),
    Column("context", "context", Unit.TOKENS),
    Column("KV", "size", Unit.BYTES),
    Column("bandwidth", "bandwidth", Unit.BYTES_PER_S),
    Column("whole", "whole", Unit.SECONDS),
    Column("in pages of 16", "paged", Unit.SECONDS),
    Column("energy", "energy", Unit.JOULES),
)


@frozen(eq=False)
class Site:
    """A rack, what is lost of it, and the trays of the two instances."""

    title: str
    rack: Rack
    trays: tuple[int, int] = (0, 1)
    lost: frozenset[str] = frozenset()

    def placement(self, gpus: int) -> Placement:
        """An instance that prefills and one that decodes, both of so many GPUs."""
        trays = [self.rack.parts(Part.TRAY)[at] for at in self.trays]
        seats = (self.rack.gpus_of(tray)[:gpus] for tray in trays)
        on = dict(zip(("prefill-0", "decode-0"), seats, strict=True))
        return place(self.rack, prefill=1, decode=1, on=on)


def ask(study: Study) -> Answer:
    """The different ways of each rack that such GPUs are in, for each kind of instance."""
    kinds = engines(study, "prefill")
    tables = tuple(
        _table(f"{site.title}: {name}", engine, site)
        for name, engine in kinds
        for site in sites(engine)
    )
    told = "On an otherwise idle rack, at the whole bandwidth, to an instance of the same kind."
    return Answer("paths", tables, notes=(told,))


def sites(engine: Engine) -> tuple[Site, ...]:
    """Racks of servers with such GPUs, or else with GPUs on such links; ``ModelError`` for none."""
    known = nodes().values()
    alike = [node for node in known if node.gpu == engine.gpu.name] or [
        node for node in known if node.part.scale_up == engine.gpu.scale_up
    ]
    fitting = [node for node in alike if node.gpus >= engine.gpus]
    if not fitting:
        raise ModelError(
            f"no server that is known has {engine.gpus} GPUs such as {engine.gpu.name} on "
            f"{engine.gpu.scale_up}, so there is no rack on which to price a path"
        )
    return _sites(fitting[0])


def _sites(node: Node) -> tuple[Site, ...]:
    rack = node.build()
    if node.nvlink_gpus == node.gpus:
        return (Site(f"{node.name}, one instance a server", rack),)
    switches = frozenset(rack.parts(Part.NVLINK_SWITCH))
    return (
        Site("NVL72", rack),
        Site("NVL72 without its NVLink switches", rack, lost=switches),
        Site("two NVL72, one instance on each", preset("two-rack"), trays=(0, 18)),
    )


def _table(title: str, engine: Engine, site: Site) -> Table:
    placement = site.placement(engine.gpus)
    fabric = Fabric(site.rack, site.lost)  # type: ignore[arg-type] # its converter is generic
    whole = transfers(fabric, placement, engine, CONTEXTS)
    paged = transfers(fabric, placement, engine, CONTEXTS, Messages())
    rows = tuple(_row(one, other) for one, other in zip(whole, paged, strict=True))
    return Table(title, COLUMNS, rows, (f"pages of 16 tokens: {Messages().overhead_us} us each",))


def _row(one: Transfer, paged: Transfer) -> tuple[str | float, ...]:
    return (
        one.source,
        one.target,
        one.way,
        one.context_tokens,
        one.bytes,
        one.bytes_per_s,
        one.seconds,
        paged.seconds,
        one.joules,
    )
