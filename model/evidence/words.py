"""Conditions of the serving world in the words of people who run one."""

from __future__ import annotations

import re
from typing import Final

_PLAIN: Final = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (
            r"\b(attempt-\d+)\.sent \((\d+)\) <= \1\.received \((\d+)\)",
            r"no token of \1 is on its way (\2 sent, \3 received)",
        ),
        (
            r"\b(attempt-\d+)\.sent \((\d+)\) != \1\.received \((\d+)\)",
            r"tokens of \1 are still on their way (\2 sent, \3 received)",
        ),
        (r"\b(attempt-\d+)\.finish is none\b", r"\1 has sent no finish reason"),
        (r"\b(attempt-\d+)\.finish is received\b", r"the finish reason of \1 has come already"),
        (r"(request[- ]\S+)\.phase is done\b", r"\1 is over already"),
        (r"(request[- ]\S+)\.phase is failed\b", r"\1 has failed already"),
    )
)
"""Each condition that people meet often, and what it says."""


def in_words(text: str) -> str:
    """The same with the conditions told that are known; others stay as they are."""
    for pattern, words in _PLAIN:
        text = pattern.sub(words, text)
    return text
