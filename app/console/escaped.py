"""Text so that Markdown shows it as it is: names are a user's, and may hold anything."""

from __future__ import annotations

import re

from app.results.plain import printable

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&$@!])")
"""What may begin a format, a link, a tag, an entity, a formula or a mention."""


def escaped(text: str) -> str:
    """The text so that Markdown shows it as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", printable(" ".join(text.split())))
