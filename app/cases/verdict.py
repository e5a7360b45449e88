"""The words of a comparison, for plans and statistics alike."""

from __future__ import annotations

from typing import Literal

Word = Literal["faster", "slower", "same", "undecided"]

BAND = 0.02
"""A change within this counts as none."""
