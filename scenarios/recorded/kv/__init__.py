"""Logs of KV events: what engines say of their caches, held against the model's caches and index.

``batches`` is what was read; ``vllm``, ``trtllm`` and ``dynamo`` make it of what each of them
writes, ``files`` of a file; ``numbers`` and ``lives`` cut it into cases, in the ``worlds`` they are
explained in; ``cases`` puts them together.
"""

from rackproof.scenarios.recorded.kv.cases import kv_cases
from rackproof.scenarios.recorded.kv.files import MAPPINGS, kv_mapping

__all__ = ["MAPPINGS", "kv_cases", "kv_mapping"]
