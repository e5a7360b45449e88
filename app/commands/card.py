"""`graphlap card`: what models would need of a simulated card."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from app.commands.output import print_text
from app.console.card import card_command
from app.console.width import width_of


def run(words: Sequence[str]) -> int:
    """Print the answer; 1 where no configuration meets the target."""
    text, code = card_command(words, width_of(sys.stdout))
    return print_text(text) or code
