"""Language models by what costs something: parameters, and operations a token.

A multiply-add counts as two operations. Attention counts its two products (scores, and values) over
all that came before: 2 L d s (s + 1) for a prompt of s tokens, causal.
"""

from __future__ import annotations

from typing import ClassVar

from attrs import field, frozen

from rackproof.model.performance.catalogue import chosen, positive


@frozen
class Architecture:
    """A dense decoder with grouped-query attention and a gated feed-forward network.

    width: of the residual stream (d). bytes_per_parameter: 2 for BF16.
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
    bytes_per_parameter: float = field(default=2.0, validator=positive)
    text: str = ""
    source: str = ""

    @property
    def matmul_parameters(self) -> int:
        """Parameters that every token is multiplied with: all layers, and the LM head."""
        attention = 2 * self.width * (self.heads + self.kv_heads) * self.head_dim
        return (
            self.layers * (attention + 3 * self.width * self.feed_forward)
            + self.width * self.vocabulary
        )

    @property
    def weight_bytes(self) -> float:
        """What is resident: the parameters and the input embedding."""
        return (self.matmul_parameters + self.width * self.vocabulary) * self.bytes_per_parameter

    @property
    def kv_values_per_token(self) -> int:
        """Values of the KV cache of one token: keys and values of every layer and KV head."""
        return 2 * self.layers * self.kv_heads * self.head_dim

    def linear_flops(self, tokens: float) -> float:
        """Operations of the matrix products for so many tokens."""
        return 2 * self.matmul_parameters * tokens

    def prefill_attention_flops(self, new: float, cached: float = 0) -> float:
        """Operations of causal attention of new tokens behind cached ones."""
        return 2 * self.layers * self.width * new * (2 * cached + new + 1)

    def decode_attention_flops(self, context: float) -> float:
        """Operations of attention of one new token each over so many tokens in all."""
        return 4 * self.layers * self.width * context


def architecture(name: str) -> Architecture:
    """The preset of a language model."""
    return chosen("models.yaml", Architecture, name)
