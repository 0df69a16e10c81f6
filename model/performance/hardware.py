"""GPUs and links: peak rates, what of them is reached, and what they draw."""

from __future__ import annotations

from typing import ClassVar

from attrs import Attribute, field, frozen
from attrs.validators import optional

from rackproof.model.kernel import ModelError
from rackproof.model.performance.catalogue import chosen, not_negative, positive, share


@frozen
class Link:
    """A way for bytes, one way: seconds = latency + bytes / bandwidth."""

    CALLED: ClassVar[str] = "link"

    name: str
    bandwidth_GB_s: float = field(validator=positive)  # noqa: N815 (the unit)
    latency_us: float = field(validator=not_negative)
    pJ_per_bit: float = field(default=0.0, validator=not_negative)  # noqa: N815
    text: str = ""
    source: str = ""

    @property
    def bytes_per_s(self) -> float:
        """Bandwidth in bytes a second."""
        return self.bandwidth_GB_s * 1e9

    @property
    def latency_s(self) -> float:
        """Latency in seconds."""
        return self.latency_us * 1e-6

    def seconds(self, size: float) -> float:
        """How long so many bytes take on an idle link."""
        return self.latency_s + size / self.bytes_per_s

    def joules(self, size: float) -> float:
        """What it takes to move so many bytes."""
        return 8 * size * self.pJ_per_bit * 1e-12


@frozen
class Precision:
    """How weights are stored and multiplied: bits of one, its scales included."""

    CALLED: ClassVar[str] = "precision"

    name: str
    bits_per_parameter: float = field(validator=positive)
    text: str = ""
    source: str = ""

    @property
    def bytes_per_parameter(self) -> float:
        """Bytes of one parameter."""
        return self.bits_per_parameter / 8


def _known_link(_: Gpu, __: Attribute[str], value: str) -> None:
    link(value)


@frozen
class Gpu:
    """A GPU: peak rates, the share of them that kernels reach, memory, and power.

    Peaks are dense. scale_up: the link by which it reaches the GPUs of its instance.
    """

    CALLED: ClassVar[str] = "GPU"

    name: str
    bf16_TFLOP_s: float = field(validator=positive)  # noqa: N815 (the unit)
    memory_GB_s: float = field(validator=positive)  # noqa: N815
    memory_GB: float = field(validator=positive)  # noqa: N815
    compute_efficiency: float = field(validator=share)
    memory_efficiency: float = field(validator=share)
    tdp_W: float = field(validator=positive)  # noqa: N815
    idle_W: float = field(validator=not_negative)  # noqa: N815
    pJ_per_FLOP: float = field(validator=not_negative)  # noqa: N815
    pJ_per_byte: float = field(validator=not_negative)  # noqa: N815
    scale_up: str = field(validator=_known_link)
    fp8_TFLOP_s: float | None = field(default=None, validator=optional(positive))  # noqa: N815
    nvfp4_TFLOP_s: float | None = field(default=None, validator=optional(positive))  # noqa: N815
    text: str = ""
    source: str = ""

    def __attrs_post_init__(self) -> None:
        """Refuse a GPU that draws more at rest than at most."""
        if self.idle_W > self.tdp_W:
            raise ModelError(
                f"GPU {self.name}: idle_W {self.idle_W:g} is more than tdp_W {self.tdp_W:g}"
            )

    @property
    def flop_per_s(self) -> float:
        """Dense BF16 operations a second that kernels reach."""
        return self.bf16_TFLOP_s * 1e12 * self.compute_efficiency

    @property
    def bytes_per_s(self) -> float:
        """Bytes of memory a second that kernels reach."""
        return self.memory_GB_s * 1e9 * self.memory_efficiency

    @property
    def link(self) -> Link:
        """The scale-up link."""
        return link(self.scale_up)

    def speedup(self, precision: Precision) -> float:
        """How many operations of a precision take the time of one of BF16."""
        peak = getattr(self, f"{precision.name}_TFLOP_s", None)
        if peak is None:
            raise ModelError(f"GPU {self.name} multiplies no {precision.name} weights")
        return float(peak / self.bf16_TFLOP_s)


def gpu(name: str) -> Gpu:
    """The preset of a GPU."""
    return chosen("gpus.yaml", Gpu, name)


def link(name: str) -> Link:
    """The preset of a link."""
    return chosen("links.yaml", Link, name)


def precision(name: str) -> Precision:
    """The preset of a precision of weights."""
    return chosen("precisions.yaml", Precision, name)
