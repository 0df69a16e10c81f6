"""The folder of a model without weights: all that a frontend and CPU workers read of one.

Its vocabulary has a word for each token, ``t2000`` for the token 2000, so that the client's text is
the list of token ids.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

VOCABULARY: Final = 8192
SPECIAL: Final = ("<unk>", "<s>", "</s>", "<pad>")
TEMPLATE: Final = (
    "{{ bos_token }}{% for message in messages %} {{ message.content }}{% endfor %} t5"
)


def write_model(folder: Path) -> Path:
    """Write the folder; return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in _files().items():
        (folder / name).write_text(json.dumps(content, indent=1), encoding="utf-8")
    return folder


def _files() -> dict[str, Any]:
    ends = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 3}
    return {
        "config.json": {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "vocab_size": VOCABULARY,
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 4,
            "head_dim": 16,
            "hidden_act": "silu",
            "max_position_embeddings": VOCABULARY,
            "rms_norm_eps": 1e-5,
            "rope_theta": 10000.0,
            "tie_word_embeddings": False,
            "torch_dtype": "float32",
            **ends,
        },
        "generation_config.json": ends,
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "unk_token": "<unk>",
            "bos_token": "<s>",
            "eos_token": "</s>",
            "pad_token": "<pad>",
            "model_max_length": VOCABULARY,
            "chat_template": TEMPLATE,
        },
        "tokenizer.json": _tokenizer(),
    }


def _tokenizer() -> dict[str, Any]:
    words = {word: number for number, word in enumerate(SPECIAL)}
    words |= {f"t{number}": number for number in range(len(SPECIAL), VOCABULARY)}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    added = [
        {"id": number, "content": word, "special": True, **flags}
        for number, word in enumerate(SPECIAL)
    ]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": {"type": "Fuse"},
        "model": {"type": "WordLevel", "vocab": words, "unk_token": "<unk>"},
    }
