"""What a mapping says of its files: in which of them a witness writes, and what is whole there."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rackproof.scenarios.recorded.mapping import MappingFile


def files_of(mapping: MappingFile) -> Mapping[str, str]:
    """The names of the files in which each witness is looked for."""
    found: dict[str, dict[str, None]] = {}
    for section in mapping.sections:
        told = [rule.witness for rule in section.rules]
        for witness in (*told, *(one.witness for one in section.complete)):
            if isinstance(witness, str):
                found.setdefault(witness, {})[section.shape] = None
    return {witness: " or ".join(map(_shown, names)) for witness, names in found.items()}


def claims_of(mapping: MappingFile) -> Mapping[str, frozenset[str]]:
    """Of each witness in files of its own, the kinds of which these have every record; not of one
    whose lines may say so themselves.
    """
    found: dict[str, frozenset[str]] = {}
    for section in mapping.sections:
        for rule in section.rules:
            if isinstance(rule.witness, str):
                found.setdefault(rule.witness, frozenset())
        for one in section.complete:
            if isinstance(one.witness, str):
                kinds = frozenset(one.kinds.split())
                found[one.witness] = found.get(one.witness, frozenset()) | kinds
    return found


def _shown(shape: str) -> str:
    """A name of files as people write it: each part that may be anything is a star."""
    return re.sub(r"\{[^}]*\}", "*", shape)
