"""Text so that Markdown shows it as it is: names are a user's, and may hold anything."""

from __future__ import annotations

import re

from app.results.plain import printable

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&$@!]|:(?=//)|(?<=[wW]{3})\.)")
"""What may begin a format, a link, a tag, an entity, a formula or a mention; of an address, what
GitHub would make a link of."""
_LISTED = re.compile(r"^(\d*)([-+.)])(?=\s|$)")
"""What would begin a list where the text begins a line."""


def escaped(text: str) -> str:
    """The text so that Markdown shows it as it is, on one line."""
    told = _SPECIAL.sub(r"\\\1", printable(" ".join(text.split())))
    return _LISTED.sub(r"\1\\\2", told)
