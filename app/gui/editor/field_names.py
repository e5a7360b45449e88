"""What a fault says in terms of the form: `--batch` is the field Batch."""

from __future__ import annotations

import re
from functools import cache

from app.plan.settings.table import SETTINGS

_FLAG = re.compile(r"--[a-z][a-z-]*[a-z]")


def in_fields(text: str) -> str:
    """The sentence with the names of fields where it has options of the command line."""
    return _FLAG.sub(lambda found: _fields().get(found[0], found[0]), text)


@cache
def _fields() -> dict[str, str]:
    """Option -> label of its field; options without a field keep their names."""
    return {
        flag: f"“{row.label.replace('&', '')}”"
        for row in SETTINGS
        if row.label
        for flag in (row.flag, *row.aliases)
    }
