"""Brief rounds: profiles of a fifth of the usual length, for tests that are not about timing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

from app.plan.plan import Lengths, named_lengths

SHARE = 0.2
"""Of a profile's times; it keeps its rounds, its samples and its time limit."""
WINDOW_S = 0.02
"""Of the default profile; a warm-up lasts ten of them at least."""


@contextmanager
def brief_rounds() -> Iterator[None]:
    """While it lasts, the profiles of this process are brief, for whoever reads them."""
    brief = {name: _brief(lengths) for name, lengths in named_lengths().items()}
    with patch.dict(named_lengths(), brief):
        yield


def _brief(lengths: Lengths) -> Lengths:
    limits = lengths.limits
    shorter = replace(
        limits,
        min_s=limits.min_s * SHARE,
        window_s=min(limits.window_s, WINDOW_S) * SHARE,
        warmup_min_s=limits.warmup_min_s * SHARE,
    )
    return replace(lengths, limits=shorter)
