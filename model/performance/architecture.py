"""Language models by what costs something: parameters, and operations a token.

A multiply-add counts as two operations. Attention counts its two products (scores, and values) over
all that came before: 2 L d s (s + 1) for a prompt of s tokens, causal. Layers are stored and
multiplied in one precision; the embedding, the LM head and attention itself stay in BF16, as
quantised checkpoints have it.
"""

from __future__ import annotations

from functools import cached_property
from math import comb
from typing import ClassVar, Final

from attrs import Attribute, field, frozen

from rackproof.model.kernel import ModelError
from rackproof.model.performance.catalogue import chosen, not_negative, part, positive
from rackproof.model.performance.hardware import Precision, precision

BF16_BYTES: Final = 2


@frozen
class Latent:
    """Multi-head latent attention: keys and values of all heads unfold from one vector a token.

    The vector (kv_rank) and one rotary key (rope_dim) are all that is cached. Prefill unfolds them
    for every head; decode takes the unfolding into the query and the output, and attends over the
    vectors as they are. Source: arXiv 2405.04434, section 2.1.
    """

    CALLED: ClassVar[str] = "latent attention"

    query_rank: int = field(validator=positive)
    kv_rank: int = field(validator=positive)
    nope_dim: int = field(validator=positive)
    rope_dim: int = field(validator=positive)
    value_dim: int = field(validator=positive)

    @property
    def cached_values(self) -> int:
        """Values of the cache of one token in one layer."""
        return self.kv_rank + self.rope_dim

    def unfolding(self, heads: int) -> int:
        """Parameters that make keys and values of a cached vector."""
        return self.kv_rank * heads * (self.nope_dim + self.value_dim)

    def parameters(self, width: int, heads: int) -> int:
        """Parameters of the attention of one layer."""
        queries = self.query_rank * (width + heads * (self.nope_dim + self.rope_dim))
        output = heads * self.value_dim * width
        return queries + width * self.cached_values + self.unfolding(heads) + output


@frozen
class Mixture:
    """A mixture of experts: each token goes to some of them, and to the shared ones.

    width: of the feed-forward network that an expert is. dense_layers: how many come first with an
    ordinary one.
    """

    CALLED: ClassVar[str] = "mixture"

    experts: int = field(validator=positive)
    per_token: int = field(validator=positive)
    width: int = field(validator=positive)
    shared: int = field(default=0, validator=not_negative)
    dense_layers: int = field(default=0, validator=not_negative)

    def __attrs_post_init__(self) -> None:
        """Refuse a token that goes to more experts than there are."""
        if self.per_token > self.experts:
            raise ModelError(f"mixture: {self.per_token} of {self.experts} experts is too many")

    def touched(self, tokens: float) -> float:
        """Experts of a layer that a batch needs, on average, routed evenly and independently."""
        missed: float = (1 - self.per_token / self.experts) ** tokens
        return self.experts * (1 - missed)

    def reached(self, members: int) -> float:
        """GPUs besides its own that a token is sent to, on average, with experts dealt evenly."""
        own = self.experts // members
        missed = comb(self.experts - own, self.per_token) / comb(self.experts, self.per_token)
        return (members - 1) * (1 - missed)


def _latent(value: object) -> Latent | None:
    return part(Latent, value)


def _mixture(value: object) -> Mixture | None:
    return part(Mixture, value)


def _known_precision(_: Architecture, __: Attribute[str], value: str) -> None:
    precision(value)


@frozen
class Architecture:
    """A decoder with gated feed-forward networks: grouped-query attention unless it is latent,
    dense unless it is a mixture.

    width: of the residual stream (d). weights: the precision of the layers.
    """

    CALLED: ClassVar[str] = "model"

    name: str
    layers: int = field(validator=positive)
    width: int = field(validator=positive)
    heads: int = field(validator=positive)
    kv_heads: int = field(validator=positive)
    head_dim: int = field(validator=positive)
    feed_forward: int = field(validator=positive)
    vocabulary: int = field(validator=positive)
    weights: str = field(default="bf16", validator=_known_precision)
    latent: Latent | None = field(default=None, converter=_latent)
    mixture: Mixture | None = field(default=None, converter=_mixture)
    text: str = ""
    source: str = ""

    def __attrs_post_init__(self) -> None:
        """Refuse more dense layers than there are layers, and heads without an even share of KV."""
        if self.heads % self.kv_heads:
            raise ModelError(
                f"model {self.name}: {self.heads} heads have no even share of {self.kv_heads} "
                "kv_heads"
            )
        if self.mixture_layers < 0:
            raise ModelError(f"model {self.name}: dense_layers is more than {self.layers} layers")

    @cached_property
    def precision(self) -> Precision:
        """The precision of the layers."""
        return precision(self.weights)

    @property
    def bytes_per_parameter(self) -> float:
        """Bytes of a parameter of the layers."""
        return self.precision.bytes_per_parameter

    @property
    def mixture_layers(self) -> int:
        """Layers with experts."""
        return self.layers - self.mixture.dense_layers if self.mixture else 0

    @cached_property
    def expert_parameters(self) -> int:
        """Parameters of one expert."""
        return 3 * self.width * self.mixture.width if self.mixture else 0

    @cached_property
    def common_parameters(self) -> int:
        """Parameters of the layers that every token meets: all but the experts it is routed to."""
        attention = 2 * self.width * (self.heads + self.kv_heads) * self.head_dim
        if self.latent:
            attention = self.latent.parameters(self.width, self.heads)
        dense = (self.layers - self.mixture_layers) * 3 * self.width * self.feed_forward
        gated = self.mixture_layers * self._beside_experts
        return self.layers * attention + dense + gated

    @property
    def _beside_experts(self) -> int:
        if not self.mixture:
            return 0
        return self.mixture.shared * self.expert_parameters + self.width * self.mixture.experts

    @cached_property
    def routed_parameters(self) -> int:
        """Parameters of all experts that tokens are routed to."""
        return self.mixture_layers * self._experts * self.expert_parameters

    @property
    def _experts(self) -> int:
        return self.mixture.experts if self.mixture else 0

    @cached_property
    def expert_multiplied(self) -> int:
        """Parameters of the experts that one token is routed to, in all layers."""
        per_token = self.mixture.per_token if self.mixture else 0
        return self.mixture_layers * per_token * self.expert_parameters

    @property
    def layer_multiplied(self) -> int:
        """Parameters of the layers that a token is multiplied with."""
        return self.common_parameters + self.expert_multiplied

    @property
    def head_parameters(self) -> int:
        """Parameters of the LM head; the input embedding has as many."""
        return self.width * self.vocabulary

    @cached_property
    def matmul_parameters(self) -> int:
        """Parameters that a token is multiplied with: its share of all layers, and the LM head."""
        return self.layer_multiplied + self.head_parameters

    @property
    def parameters(self) -> int:
        """All parameters, as published totals count them: with the embedding and the norms."""
        norms = self.layers * (2 * self.width + self._latent_norms) + self.width
        layers = self.common_parameters + self.routed_parameters
        return layers + 2 * self.head_parameters + norms

    @property
    def _latent_norms(self) -> int:
        return self.latent.query_rank + self.latent.kv_rank if self.latent else 0

    @cached_property
    def common_bytes(self) -> float:
        """Bytes of all that every token meets: common parameters, LM head, input embedding."""
        layers = self.common_parameters * self.bytes_per_parameter
        return layers + 2 * self.head_parameters * BF16_BYTES

    @cached_property
    def routed_bytes(self) -> float:
        """Bytes of all experts that tokens are routed to."""
        return self.routed_parameters * self.bytes_per_parameter

    @property
    def weight_bytes(self) -> float:
        """What is resident: all parameters but the norms (millionths of the rest)."""
        return self.common_bytes + self.routed_bytes

    def touched_bytes(self, tokens: float) -> float:
        """Bytes of the experts that a batch of so many tokens needs, on average."""
        if not self.mixture:
            return 0.0
        return self.routed_bytes * self.mixture.touched(tokens) / self.mixture.experts

    @cached_property
    def kv_values_per_token(self) -> int:
        """Values of the KV cache of one token: of every layer, all that attention looks back at."""
        return self.layers * (
            self.latent.cached_values if self.latent else 2 * self.kv_heads * self.head_dim
        )

    @property
    def kv_shards(self) -> int:
        """Into how many parts tensor parallelism can cut the KV cache of a token."""
        return 1 if self.latent else self.kv_heads

    def linear_flops(self, tokens: float) -> float:
        """Operations of the matrix products for so many tokens."""
        return 2 * self.matmul_parameters * tokens

    def prefill_attention_flops(self, new: float, cached: float = 0) -> float:
        """Operations of causal attention of new tokens behind cached ones.

        Latent attention unfolds the cached vectors again for them.
        """
        pairs = new * (2 * cached + new + 1)
        unfolded = 2 * self._unfolding * cached if new else 0
        return self.layers * (self._prefill_width * pairs + unfolded)

    def decode_attention_flops(self, context: float) -> float:
        """Operations of attention of one new token each over so many tokens in all."""
        return self.layers * self._decode_width * context

    @cached_property
    def _unfolding(self) -> int:
        return self.latent.unfolding(self.heads) if self.latent else 0

    @cached_property
    def _prefill_width(self) -> int:
        """Half the operations of one query with one key and value, in a layer."""
        if self.latent:
            return self.heads * (
                self.latent.nope_dim + self.latent.rope_dim + self.latent.value_dim
            )
        return 2 * self.heads * self.head_dim

    @cached_property
    def _decode_width(self) -> int:
        """Operations of one query with one cached token, in a layer."""
        if self.latent:
            return 2 * self.heads * (self.latent.cached_values + self.latent.kv_rank)
        return 4 * self.heads * self.head_dim


def architecture(name: str) -> Architecture:
    """The preset of a language model."""
    return chosen("models.yaml", Architecture, name)
