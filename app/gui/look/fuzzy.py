"""How well a text fits what somebody typed to find it: all words in any order, if scattered."""

from __future__ import annotations

from collections.abc import Sequence

_NO_FIT = -1.0
_STARTS, _STARTS_A_WORD, _INSIDE = 100.0, 80.0, 60.0
_SCATTERED, _A_GAP = 40.0, 3.0
_LETTER = 0.1
"""Of two texts that fit equally, the shorter one was rather meant."""


def fit(query: str, text: str) -> float | None:
    """Larger is better; None where some word of the query is not in the text, even scattered."""
    name = text.casefold()
    words = query.casefold().split()
    marks = [_of_word(word, name) for word in words]
    if _NO_FIT in marks:
        return None
    return sum(marks) - _LETTER * len(name)


def best(query: str, texts: Sequence[str], most: int) -> list[int]:
    """The places of the texts that fit best, best first; of equal ones the earlier."""
    marks = ((fit(query, text), place) for place, text in enumerate(texts))
    found = sorted((-mark, place) for mark, place in marks if mark is not None)
    if not query.strip():
        found = [(0.0, place) for place in range(len(texts))]
    return [place for _, place in found[:most]]


def _of_word(word: str, text: str) -> float:
    at = text.find(word)
    if at == 0:
        return _STARTS
    starts = (place for place in _places(word, text) if not text[place - 1].isalnum())
    if next(starts, -1) > 0:
        return _STARTS_A_WORD
    return _INSIDE if at > 0 else _scattered(word, text)


def _places(word: str, text: str) -> Sequence[int]:
    found, at = [], text.find(word)
    while at >= 0:
        found.append(at)
        at = text.find(word, at + 1)
    return found


def _scattered(word: str, text: str) -> float:
    """Its letters one after another, each gap for the worse: `opr` of open run."""
    gaps, at = 0, -1
    for letter in word:
        found = text.find(letter, at + 1)
        if found < 0:
            return _NO_FIT
        gaps += found > at + 1
        at = found
    return max(1.0, _SCATTERED - _A_GAP * gaps)
