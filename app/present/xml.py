"""Elements of XML and HTML as text, with everything escaped."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from app.results.plain import printable


def safe_text(text: str) -> str:
    """Text that a page or picture shows as it is; of control characters XML has hardly any form."""
    return escape(printable(text))


def element(name: str, attributes: Mapping[str, str], content: str | None = None) -> str:
    """An element with its attributes escaped; `content` is escaped already, and None where there
    can be none."""
    told = "".join(f' {key}="{safe_text(value)}"' for key, value in attributes.items())
    return f"<{name}{told}/>" if content is None else f"<{name}{told}>{content}</{name}>"
