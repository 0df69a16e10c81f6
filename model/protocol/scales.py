"""How quantised KV moves: with the scales that its bytes mean nothing without, or not."""

from __future__ import annotations

from attrs import frozen

from rackproof.model.protocol.mechanism import mechanism


@frozen(slots=False)
class ScalesMechanisms:
    """How quantised KV moves: with the scales that its bytes mean nothing without, or not."""

    move_block_scales: bool = mechanism(
        True,
        "The scales of a block's values (NVFP4: one in E4M3 for every 16) move with them. They lie "
        "in a buffer of their own; without it the values are read with what lay there before.",
        "sglang#36121: HiCache, FP4 KV; sglang#35718: MXFP8 KV could not be handed to decode",
    )
    move_tensor_scale: bool = mechanism(
        True,
        "The scale of the tensor (NVFP4: one in FP32) moves with its values, or is the same on "
        "both sides. Without it they are read with the reader's own, wrong by the quotient.",
        "NVFP4 has two levels of scales; vllm --calculate-kv-scales: each engine measures its own",
    )
