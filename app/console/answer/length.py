"""The length of a short document: what is left out, so that it fits one screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from app.formatting.text import counted
from app.present.document import Block, Note, Paragraph
from app.present.terminal import as_lines

MAXIMUM_LINES = 40
_MAXIMUM_CAUSE_LINES = 2


def fit_to_screen(document: Iterable[Block], width: int) -> tuple[Block, ...]:
    """The document in at most `MAXIMUM_LINES` of so many columns; as it is where leaving out does
    not achieve that, as with tables that a plan asks for.

    Long causes are cut first, then explanations go, then causes from the end. Answers, warnings and
    commands stay; the full form has the rest.
    """
    blocks = tuple(document)
    if not _is_long(blocks, width):
        return blocks
    fewer = [_shorten(block, width) for block in blocks]
    places = [
        *(place for place, block in enumerate(fewer) if _is_explanation(block)),
        *(place for place, block in reversed([*enumerate(fewer)]) if isinstance(block, Note)),
    ]
    for count in range(len(places) + 1):
        remaining = _remaining_blocks(fewer, places[:count])
        if not _is_long(remaining, width):
            return remaining
    return blocks


def _remaining_blocks(blocks: Sequence[Block], places: Sequence[int]) -> tuple[Block, ...]:
    """The blocks that are not at these places; where causes go, how many stands in their place."""
    causes = sorted(place for place in places if isinstance(blocks[place], Note))
    count = f"... and {counted(len(causes), 'more cause')} of missing figures"
    return tuple(
        Paragraph(count) if causes and place == causes[0] else block
        for place, block in enumerate(blocks)
        if place not in places or (causes and place == causes[0])
    )


def _is_long(blocks: Iterable[Block], width: int) -> bool:
    return sum(1 for _ in as_lines(blocks, width)) > MAXIMUM_LINES


def _is_explanation(block: Block) -> bool:
    return isinstance(block, Paragraph) and block.tone == "quiet"


def _shorten(block: Block, width: int) -> Block:
    """A cause in few lines."""
    most = _MAXIMUM_CAUSE_LINES * width - width // 2
    if not isinstance(block, Note) or len(block.text) <= most:
        return block
    return replace(block, text=f"{block.text[:most].rsplit(' ', 1)[0]} …")
