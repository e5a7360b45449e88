"""Words as a command line for a shell, to be copied and pasted."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from runtimes.quoting import quoted

_QUOTE = "'"


def shell_line(words: Iterable[str]) -> str:
    r"""Each word quoted where it has to be.

    What a terminal would act on while it is pasted, and bytes of a name that are no text, stand as
    escapes in `$'…'`, which bash, zsh and ksh have, and sh by POSIX.1-2024.
    """
    return " ".join(shlex.quote(w) if w.isprintable() else f"${quoted(w, _QUOTE)}" for w in words)
