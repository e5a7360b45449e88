"""Text as C writes its strings, which a shell's `$'…'` and protobuf's text format took over."""

from __future__ import annotations


def quoted(text: str, quote: str) -> str:
    """The text between two of `quote`, in which what does not print, and bytes that are no text,
    are octal."""
    return quote + "".join(_char(char, quote) for char in text) + quote


def _char(char: str, quote: str) -> str:
    if char in ("\\", quote):
        return f"\\{char}"
    if char.isprintable():
        return char
    # Always of three digits: a hexadecimal escape would take digits that follow it.
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))
