"""Whole numbers and words as lines of text, a block at a time: millions of lines take seconds.

A block is a matrix of bytes, a row for each line, with cells as wide as the widest; beside it is
which bytes are kept. Digits come four at once from a table.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_AT_ONCE = 10_000
_FOURS = np.array([f"{number:04d}" for number in range(_AT_ONCE)], "S4").view(np.uint32)

Block = tuple[np.ndarray, np.ndarray]
"""Bytes [n, width] and which of them are kept [n, width]."""


def lines(cells: Sequence[Block]) -> bytes:
    """The cells of each line with commas between them and a line break behind."""
    count = len(cells[0][0])
    between = [np.full((count, 1), ord(mark), np.uint8) for mark in ",\n"]
    always = np.ones((count, 1), bool)
    parts, kept = [], []
    for place, (text, own) in enumerate(cells):
        parts += [text, between[place == len(cells) - 1]]
        kept += [own, always]
    joined: np.ndarray = np.concatenate(parts, axis=1)[np.concatenate(kept, axis=1)]
    return joined.tobytes()


def words(known: Sequence[str], chosen: np.ndarray) -> Block:
    """For each line the word of its number [n]; words are ASCII."""
    table = np.array([word.encode("ascii") for word in known])
    letters = table.view(np.uint8).reshape(len(known), -1)
    return letters[chosen], (letters != 0)[chosen]


def numbers(values: np.ndarray) -> Block:
    """Whole numbers [n] in decimals, with a minus and without leading zeros."""
    size = np.abs(values.astype(np.int64))
    width = len(str(int(size.max(initial=0))))
    fours = np.empty((len(size), -(-width // 4)), np.uint32)
    rest = size
    for place in reversed(range(fours.shape[1])):
        higher = rest // _AT_ONCE
        fours[:, place] = _FOURS[rest - higher * _AT_ONCE]
        rest = higher
    text = fours.view(np.uint8)[:, -width:]
    kept = np.ones(text.shape, bool)
    for place in range(width - 1):
        kept[:, place] = size >= 10 ** (width - 1 - place)
    if not (values < 0).any():
        return text, kept
    minus = np.full((len(size), 1), ord("-"), np.uint8)
    return np.hstack([minus, text]), np.hstack([(values < 0)[:, None], kept])
