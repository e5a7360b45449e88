"""Nodes of signal processing, of texts, and of operators that draw at random."""

from __future__ import annotations

import numpy as np

from tests.differential.draft import Draft
from tests.differential.generators.table import generator


def _texts(d: Draft, shape: list[int], words: tuple[str, ...]) -> np.ndarray:
    return np.array(d.rng.choice(list(words), tuple(shape)), object).reshape(shape)


_WORDS = ("", "a", "Ab", "monday", "the cat", "x,y,", " é ", "a1", "b@c.org")


@generator("StringSplit")
def string_split(d: Draft) -> None:
    d.add(_texts(d, d.shape(0, 2, 0), ("a b", "a,b,,c", " a  b ", "abc", "", "a--b")))
    d.maybe(delimiter=d.pick([",", "--", ""]), maxsplit=d.integer(1, 3))
    d.outputs = 2


@generator("StringNormalizer")
def string_normalise(d: Draft) -> None:
    d.add(_texts(d, [d.integer(1, 5)] if d.chance() else [1, d.integer(1, 5)], _WORDS[1:]))
    d.maybe(case_change_action=d.pick(["LOWER", "UPPER", "NONE"]))
    d.maybe(0.8, locale="C")
    d.maybe(is_case_sensitive=d.integer(0, 1), stopwords=["monday", "ab"])


@generator("RandomNormal", "RandomUniform")
def random(d: Draft) -> None:
    d.set(shape=d.shape(1, 3, 0))
    d.maybe(dtype=d.pick([1, 11]), seed=d.real(0, 9))


@generator("RandomNormalLike", "RandomUniformLike", "Bernoulli")
def random_like(d: Draft) -> None:
    d.tensor(d.shape(1, 3, 0), "T1", 0, 1, kinds="f")
    d.maybe(dtype=d.pick([1, 11]), seed=d.real(0, 9))
