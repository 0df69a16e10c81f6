"""A step as it is drawn, and the parties to it: each says, of a step, whose lane that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from attrs import frozen

from rackproof.model.kernel import Identifiers
from rackproof.model.kv import Load
from rackproof.model.picture.cast import DISCOVERY, FRONTEND, GATEWAY, INDEX, MASTER, ROUTER, Cast
from rackproof.model.protocol import Transfer
from rackproof.model.sorts import Blocks, Clients, Segments
from rackproof.model.stream import Attempt
from rackproof.model.world import World


@frozen
class Scene:
    """A step: its world before and after, and the identifiers that it was given, by parameter."""

    cast: Cast
    before: World
    after: World
    ids: Mapping[str, int]

    @property
    def load(self) -> Load:
        """The load of the attempt, as it was."""
        return self.before.loads[self.ids["request"]].attempts[self.ids["attempt"]]

    @property
    def load_after(self) -> Load:
        """The load of the attempt, as it is after the step."""
        return self.after.loads[self.ids["request"]].attempts[self.ids["attempt"]]

    @property
    def attempt(self) -> Attempt:
        """The frames of the attempt, as they were."""
        return self.before.streams[self.ids["request"]].attempts[self.ids["attempt"]]

    def called(self, sort: Identifiers, index: int) -> str:
        """What an identifier is called, to be put into a sentence with placeholders."""
        return self.cast.called(sort, index).replace("{", "{{").replace("}", "}}")

    def freed(self, on: str | None = None) -> str:
        """The blocks that the step freed (those of a worker, if named), to be put in a sentence."""
        pairs = enumerate(zip(self.before.blocks, self.after.blocks, strict=True))
        return self.listed(
            self.called(Blocks, block)
            for block, (was, now) in pairs
            if was.owner is not None and now.owner is None and on in (None, self.home(block))
        )

    @staticmethod
    def listed(names: Iterable[str]) -> str:
        """Names in a row: a, b and c."""
        *others, last = list(names) or [""]
        return f"{', '.join(others)} and {last}" if others else last

    def home(self, block: int) -> str:
        """The worker that a block is on."""
        return self.cast.worker(self.before.homes[block])


Party = Callable[[Scene], str]
Between = tuple[Party, Party]


def alone(party: Party) -> Between:
    """What somebody does alone, or what befalls them."""
    return party, party


def named(name: str) -> Party:
    """A party that there is one of."""

    def party(_: Scene) -> str:
        return name

    return party


frontend: Final = named(FRONTEND)
router: Final = named(ROUTER)
index: Final = named(INDEX)
discovery: Final = named(DISCOVERY)
master: Final = named(MASTER)


def client(scene: Scene) -> str:
    """The client of the request."""
    return scene.cast.client(scene.ids["request"])


def front(scene: Scene) -> str:
    """Whom the client talks to."""
    return GATEWAY if GATEWAY in scene.cast.there else FRONTEND


def worker(scene: Scene) -> str:
    """The worker that the step names."""
    return scene.cast.worker(scene.ids["worker"])


def peer(scene: Scene) -> str:
    """The peer that the step names."""
    return scene.cast.worker(scene.ids["peer"])


def source_home(scene: Scene) -> str:
    """The worker with the source of a transfer."""
    return scene.home(scene.ids["source"])


def target_home(scene: Scene) -> str:
    """The worker with the target of a transfer."""
    return scene.home(scene.ids["target"])


def serving(scene: Scene) -> str:
    """The worker that has the attempt to decode; else the one that has it to prefill."""
    here, load = scene.attempt.worker, scene.load.prefill
    found = load if here is None else here
    return FRONTEND if found is None else scene.cast.worker(found)


def prefilling(scene: Scene) -> str:
    """The worker that has the attempt to prefill; else the one that serves it."""
    found = scene.load.prefill
    return serving(scene) if found is None else scene.cast.worker(found)


def poster(scene: Scene) -> str:
    """Who posts transfers into the target: its worker, or the other one where that pushes."""
    pushes = scene.before.protocol.transfer == Transfer.PUSH
    return prefilling(scene) if pushes else target_home(scene)


def where(test: Callable[[Scene], bool], so: Party, otherwise: Party) -> Party:
    """One party or another."""

    def party(scene: Scene) -> str:
        return so(scene) if test(scene) else otherwise(scene)

    return party


def store_client(scene: Scene) -> str:
    """The client of the store that the step names."""
    return scene.cast.called(Clients, scene.ids["client"])


def segment(scene: Scene) -> str:
    """The segment that the step names."""
    return scene.cast.called(Segments, scene.ids["segment"])


def lender(scene: Scene) -> str:
    """The segment with the space that the step names."""
    return scene.cast.called(Segments, scene.before.lenders[scene.ids["space"]])
