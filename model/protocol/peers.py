"""How workers connect to each other, and what they may still touch when the other is gone."""

from __future__ import annotations

from attrs import frozen

from rackproof.model.protocol.mechanism import Alternative, mechanism


class LinkFailure(Alternative):
    """What becomes of the request whose handshake or posted read fails."""

    ERROR = "error", "It fails with a clear error, or is computed without the peer."
    WAIT = "wait", "Nothing tells the scheduler: the request goes on waiting."
    CRASH = "crash", "It is taken for a finished read of a peer that is not there: the engine dies."


class WeightsCheck(Alternative):
    """When a reader compares the version of its weights with that of the KV it reads."""

    EACH_READ = "each-read", "At every read."
    HANDSHAKE = "handshake", "At the handshake alone, as other fields of a compatibility hash."
    NEVER = "never", "Never."


class CacheOnUpdate(Alternative):
    """What becomes of the KV that a worker has cached when its weights are updated."""

    CLEAR = "clear", "It is thrown away."
    SALT = "salt", "It stays, and only requests that name its version find it."
    KEEP = "keep", "It stays, and any request finds it."


@frozen(slots=False)
class PeersMechanisms:
    """How workers connect to each other, and what they may still touch when the other is gone."""

    generation_in_handles: bool = mechanism(
        True,
        "A transfer handle knows the incarnation of the peer it was prepared for, and one of an "
        "earlier incarnation is refused. Without it a peer that came back under its name is read "
        "through the addresses and keys of the memory it had before.",
        "nixl#2027, nixl#2051: NIXL_ERR_NOT_FOUND",
    )
    quiesce_before_teardown: bool = mechanism(
        True,
        "An endpoint is closed only when nobody is unpacking keys on it. Without it the "
        "error callback closes the endpoint under the thread that prepares a read.",
        "nixl#1986, nixl#1987",
    )
    unmap_on_peer_loss: bool = mechanism(
        True,
        "A worker unmaps the memory of a peer as soon as the peer is gone. Without it the memory, "
        "mapped over NVLink, outlives its process until the next handshake.",
        "vllm#58063, vllm#44424",
    )
    replace_stale_endpoint: bool = mechanism(
        True,
        "A handshake of a peer that came back replaces the endpoint that its predecessor left. "
        "Without it the old endpoint rejects every reconnect.",
        "Mooncake#3188, Mooncake#3755",
    )
    fall_back_to_scale_out: bool = mechanism(
        True,
        "A fault of the NVLink domain is handled as the error of a link, and the next handshake "
        "goes over the network. Without it whoever has memory mapped dies, all at once.",
        "marin-community/marin#8934",
    )
    fail_path_of_handshake: LinkFailure = mechanism(
        LinkFailure.ERROR,
        "What becomes of a request whose handshake or read cannot be made: an `error`, or it is "
        "left to `wait`, or the engine takes it for a finished read and must `crash`.",
        "vllm#26171, vllm#40364, vllm#41863, vllm#50754, vllm#55181",
    )
    clear_signals_on_connect: bool = mechanism(
        True,
        "The signal that announces data is clear when a peer connects: it was cleared, or lies "
        "where nothing else ever does. Without it what was there before announces data that has "
        "not come.",
        "nixl#1451",
    )
    compare_model: bool = mechanism(
        True,
        "The handshake compares the model. Without it the KV of one model is read by another.",
        "vllm nixl compatibility hash: model",
    )
    compare_dtype: bool = mechanism(
        True,
        "The handshake compares the type of the KV (BF16, FP8, NVFP4). Without it the bytes of one "
        "are read as another.",
        "vllm nixl compatibility hash: cache dtype; sglang: kv_cache_dtype",
    )
    compare_layout: bool = mechanism(
        True,
        "The handshake compares how KV lies in the cache (strides, packing, order of heads). "
        "Without it both agree and the bytes mean something else.",
        "sglang#37838; vllm nixl compatibility hash, dynamo#12821",
    )
    compare_page_size: bool = mechanism(
        True,
        "The handshake compares the page size. Without it a block of one side is part of one, or "
        "several, of the other.",
        "vllm nixl: block size, checked behind the hash; sglang: page size",
    )
    compare_scales: bool = mechanism(
        True,
        "The handshake compares how the scales of quantised KV are kept (NVFP4: one a block of 16 "
        "in E4M3, one a tensor in FP32). Without it values are right up to a factor, and wrong.",
        "NVFP4 has two levels of scales; no compatibility hash that was read names them",
    )
    compare_weights_version: WeightsCheck = mechanism(
        WeightsCheck.EACH_READ,
        "When the version of the weights that computed the KV is compared with the reader's: at "
        "`each-read`, at the `handshake` (an update later is not seen), or `never`.",
        "vllm nixl compatibility hash: has no weights version",
        off=WeightsCheck.NEVER,
    )
    cache_on_weight_update: CacheOnUpdate = mechanism(
        CacheOnUpdate.CLEAR,
        "What an update of the weights does with cached KV: `clear` it, `salt` its keys with the "
        "version, or `keep` it for requests that will be computed with other weights.",
        "InternLM/lmdeploy#4917, NVIDIA-NeMo/RL#4018, PrimeIntellect-ai/prime-rl#2266, "
        "PrimeIntellect-ai/prime-rl#2270",
        off=CacheOnUpdate.KEEP,
    )
