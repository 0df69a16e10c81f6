"""What a model may not do is refused: never followed wrongly, never silently."""

from __future__ import annotations

import random
from enum import Enum, IntEnum
from typing import Any

import naive
import pytest

from rackproof.checker.compare import compare
from rackproof.checker.engines import Options, explore
from rackproof.checker.lowering import LoweringError, lower
from rackproof.checker.verdicts import Verdict, results
from rackproof.model.kernel import (
    Identifiers,
    ModelError,
    System,
    always,
    at_rest,
    bounded,
    each,
    evolve,
    frozen,
    identifier,
    members,
    sometimes,
    step,
    transition,
)

Workers = Identifiers("worker")
EVIL: dict[str, Any] = {"identity": lambda a, b: a is b}
MEMORY = {"calls": 0}


@frozen
class World:
    a: int = bounded(0, 10)
    b: bool = False
    who: int | None = identifier(Workers)
    seen: frozenset[int] = members(Workers)


def system(*functions: Any, **fields: Any) -> System:
    properties = fields.pop("properties", ())
    transitions = [transition(step)(function) for function in functions]
    return System("world", World(**fields), transitions, properties, sizes={"worker": 2})


def learn(w: World) -> World | None:
    return evolve(w, a=(w.a + 1) % 3, b=not w.b, who=1)


@always()
def little(w: World) -> bool:
    return w.a < 1


def helper_in_a_dict(w: World) -> World | None:
    return evolve(w, a=1) if EVIL["identity"](w.who, None) else None


def catches_all(w: World) -> World | None:
    try:
        return evolve(w, a=1) if w.who else None
    except Exception:
        return None


def asks_the_type(w: World) -> World | None:
    return evolve(w, a=1) if isinstance(w.a, int) else None


def matches_a_class(w: World) -> World | None:
    match w.a:
        case int():
            return evolve(w, a=1)
        case _:
            return None


def rolls_dice(w: World) -> World | None:
    return evolve(w, a=1) if random.random() < 0.5 else None


def leaves(w: World) -> World | None:
    if w.a == 2:
        raise SystemExit(0)
    return None


REFUSED = {
    helper_in_a_dict: "write `==`",
    catches_all: "!= None",
    asks_the_type: "type",
    matches_a_class: "type",
    rolls_dice: "chance",
    leaves: "exits Python",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_what_cannot_be_followed_is_refused(function: Any) -> None:
    with pytest.raises(LoweringError) as caught:
        lower(system(learn, function))
    assert REFUSED[function] in str(caught.value)
    assert "test_refusals.py:" in str(caught.value)


def test_a_model_with_a_memory_of_its_own_is_found_by_comparing() -> None:
    def counts(w: World) -> World | None:
        MEMORY["calls"] += 1
        return evolve(w, a=MEMORY["calls"] % 7)

    with pytest.raises(LoweringError, match="does not do the same on plain values"):
        compare(lower(system(counts, properties=(little,))))


def test_numbers_that_no_word_holds_are_refused() -> None:
    @always()
    def small(w: World) -> bool:
        return w.a * w.a * 2**61 <= 0

    with pytest.raises(LoweringError, match="62 bits"):
        lower(system(learn, properties=(small,)))


def test_a_step_that_changes_only_what_nobody_reads_keeps_a_state_from_rest() -> None:
    def flicker(w: World) -> World | None:
        return evolve(w, a=1, b=not w.b)

    @at_rest()
    def never(w: World) -> bool:
        return w.a == 0

    world = system(flicker, properties=(never,))
    assert len(naive.reachable(world)) == 3
    found = explore(world, None, Options())
    assert found.at_rest == 0
    assert not found.violated


def test_a_property_must_return_a_truth_value() -> None:
    @always()
    def forgot(w: World) -> bool:
        w.a == 0  # noqa: B015
        return None  # type: ignore[return-value]

    with pytest.raises(ModelError, match="returns True or False, not None"):
        explore(system(learn, properties=(forgot,)), None, Options())


def test_two_properties_of_one_name_are_refused_premises_too() -> None:
    @sometimes(name="same")
    def one(w: World) -> bool:
        return w.a == 1

    @always(name="same", premise=one)
    def other(w: World) -> bool:
        return w.a < 5

    with pytest.raises(ModelError, match="two properties are called same"):
        system(learn, properties=(other,))


def test_what_is_no_transition_or_property_is_told() -> None:
    go = transition(step)(learn)
    with pytest.raises(ModelError, match="little is among transitions"):
        System("mixed", World(), [little], sizes={"worker": 1})  # type: ignore[list-item]
    with pytest.raises(ModelError, match="learn is among properties"):
        System("mixed", World(), [], [go], sizes={"worker": 1})  # type: ignore[list-item]


def test_a_decorator_without_parentheses_is_told() -> None:
    bare: Any = always
    with pytest.raises(ModelError, match=r"write @always\(\) with its parentheses"):
        bare(learn)


@pytest.mark.parametrize("size", [-1, 1.5, True, "2"])
def test_a_size_is_a_count(size: Any) -> None:
    with pytest.raises(ModelError, match="not a count"):
        System("sizes", World(), [], sizes={"worker": size})


def test_a_property_of_nothing_is_vacuous() -> None:
    @always(worker=Workers)
    def wrong(w: World, worker: int) -> bool:
        return w.a < worker

    world = System("none", World(), [], [wrong], sizes={"worker": 0})
    (result,) = results(world, explore(world, None, Options()), {})
    assert result.verdict is Verdict.VACUOUS


def test_taking_nobody_out_of_a_set_changes_nothing() -> None:
    def take_out(w: World) -> World | None:
        return evolve(w, seen=w.seen - {w.who}, a=1)

    def put_in(w: World) -> World | None:
        return evolve(w, seen=w.seen | {0}, who=0)

    world = system(take_out, put_in)
    compare(lower(world))


class Level(IntEnum):
    LOW = 0


class Role(Enum):
    ONE = 1

    @property
    def node(self) -> int:
        return 3


@frozen
class Mixed:
    level: Level = Level.LOW


@frozen
class Named:
    role: Role = Role.ONE


@frozen
class Wide:
    clock: int = bounded(0, 10**10)


@frozen
class Private:
    _a: bool = False


@frozen
class Lane:
    up: bool = True


@frozen
class Lanes:
    lanes: tuple[Lane, ...] = each(Workers)


@pytest.mark.parametrize(
    ("initial", "sizes", "message"),
    [
        (Mixed(), {}, "use Enum"),
        (Named(), {}, "may not define node"),
        (Wide(), {}, "too wide"),
        (Private(), {}, "private"),
        (Lanes(lanes=(Lane(), Lane())), {"worker": 3}, "sizes has 3 for worker"),
    ],
)
def test_a_state_that_would_be_followed_wrongly_is_refused(
    initial: Any, sizes: dict[str, int], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        System("bad", initial, [], sizes=sizes)
