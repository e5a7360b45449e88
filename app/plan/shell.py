"""Words as a command line for a shell, to be copied and pasted."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable


def shell_line(words: Iterable[str]) -> str:
    r"""Each word quoted where it has to be.

    What a terminal would act on while it is pasted, and bytes of a name that are no text, stand as
    escapes in `$'…'`, which bash, zsh and ksh have, and sh by POSIX.1-2024.
    """
    return " ".join(shlex.quote(word) if word.isprintable() else _spelled(word) for word in words)


def _spelled(word: str) -> str:
    return f"$'{''.join(map(_char, word))}'"


def _char(char: str) -> str:
    if char in "\\'":
        return f"\\{char}"
    if char.isprintable():
        return char
    # Octal, always of three digits: a hexadecimal escape would take digits that follow it.
    return "".join(f"\\{byte:03o}" for byte in os.fsencode(char))
