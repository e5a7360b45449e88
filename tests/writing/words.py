"""The project's word list: phrases, with what stands there instead."""

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
