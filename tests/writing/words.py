"""The project's word list: names that say nothing, and phrases with what stands there instead."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

WORDS = Path(__file__).with_name("words.toml")
_TABLE = tomllib.loads(WORDS.read_text("utf-8"))


@dataclass(frozen=True)
class Phrase:
    pattern: re.Pattern[str]
    reason: str
    instead: str


PHRASES = tuple(
    Phrase(re.compile(rf"\b(?:{row['phrase']})\b", re.IGNORECASE), row["reason"], row["instead"])
    for row in _TABLE["phrase"]
)
_NAMES = {kind: frozenset(words.split()) for kind, words in _TABLE["names"].items()}


def kind_of_name(name: str) -> str | None:
    """What a name is that names nothing: "pronoun", "adverb", "preposition" or "participle"."""
    word = name.strip("_").lower()
    for kind in ("pronouns", "adverbs", "prepositions", "participles"):
        if word in _NAMES[kind]:
            return kind.removesuffix("s")
    if any(word.startswith(prefix) for prefix in _NAMES["prefixes"]):
        return "preposition"
    if word.isalpha() and word.endswith("ed") and word not in _NAMES["not_participles"]:
        return "participle"
    return None
