"""Nodes of signal processing, of texts, and of operators that draw at random."""

from __future__ import annotations

import numpy as np

from tests.differential.draft import Draft
from tests.differential.generators.table import generator


@generator("DFT")
def dft(d: Draft) -> None:
    shape = d.shape(2, 3, 0)
    last = d.integer(1, 2)
    inverse, is_onesided = d.integer(0, 1), d.integer(0, 1)
    if is_onesided:
        inverse = 0
        last = 1
    x = d.tensor([*shape, last], "T1")
    axis = d.integer(1, x.ndim - 2)
    if d.chance():
        axis -= x.ndim
    length = None
    if d.chance(0.4):
        length = np.array(d.integer(1, 8), d.pick([np.int32, np.int64]))
    d.add(length, constant=0.5)
    if d.version < 20:
        d.set(axis=axis % x.ndim)
    else:
        d.add(np.array(axis, np.int64), constant=0.5)
    d.maybe(0.9, inverse=inverse or None, onesided=is_onesided or None)


@generator("STFT")
def stft(d: Draft) -> None:
    batch, length, step = d.integer(1, 2), d.integer(8, 20), d.integer(1, 4)
    frame = d.pick([4, 5, 8])
    # torch writes signals without their last axis, and ONNX Runtime takes them.
    x = d.tensor([batch, length] if d.chance(0.3) else [batch, length, 1], "T1")
    kind = d.pick([np.int32, np.int64])
    d.add(np.array(step, kind), constant=0.5)
    has_window = d.chance()
    d.add(d.values([frame], x.dtype) if has_window else None)
    d.add(np.array(frame, kind) if not has_window or d.chance() else None, constant=0.5)
    d.maybe(0.7, onesided=d.integer(0, 1))


@generator("HannWindow", "HammingWindow", "BlackmanWindow")
def window(d: Draft) -> None:
    d.add(np.array(d.integer(1, 12), d.pick([np.int32, np.int64])), constant=0.5)
    d.maybe(periodic=d.integer(0, 1), output_datatype=d.pick([1, 11, 10]))


@generator("MelWeightMatrix")
def mel(d: Draft) -> None:
    for value in (d.integer(2, 9), d.pick([16, 32, 33]), d.pick([8000, 16000])):
        d.add(np.array(value, np.int64), constant=0.5)
    d.add(np.float32(d.integer(0, 200)))
    d.add(np.float32(d.integer(2000, 4000)))
    d.maybe(output_datatype=d.pick([1, 11]))


def _texts(d: Draft, shape: list[int], words: tuple[str, ...]) -> np.ndarray:
    return np.array(d.rng.choice(list(words), tuple(shape)), object).reshape(shape)


_WORDS = ("", "a", "Ab", "monday", "the cat", "x,y,", " é ", "a1", "b@c.org")


@generator("StringConcat")
def string_concat(d: Draft) -> None:
    shape = d.shape(0, 3, 0)
    d.add(_texts(d, shape, _WORDS))
    d.add(_texts(d, d.broadcast(shape), _WORDS))


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


@generator("RegexFullMatch")
def regex(d: Draft) -> None:
    d.add(_texts(d, d.shape(0, 2, 0), _WORDS))
    d.set(pattern=d.pick(["a.*", r"[a-z]+", r"\w+@\w+\.org", "", "a|the cat"]))


@generator("TfIdfVectorizer")
def tf_idf(d: Draft) -> None:
    rows = d.shape(1, 2, 0)
    d.add(d.values(rows, d.pick([np.int32, np.int64]), 0, 6))
    d.set(
        mode=d.pick(["TF", "IDF", "TFIDF"]),
        min_gram_length=d.integer(1, 2),
        max_gram_length=2,
        max_skip_count=d.integer(0, 2),
        ngram_counts=[0, 3],
        ngram_indexes=[0, 1, 2, 3, 4],
        pool_int64s=[2, 3, 5, 5, 4, 1, 2],
    )
    d.maybe(weights=[0.5, 1.0, 2.0, 0.25, 1.5])


@generator("RandomNormal", "RandomUniform")
def random(d: Draft) -> None:
    d.set(shape=d.shape(1, 3, 0))
    d.maybe(dtype=d.pick([1, 11]), seed=d.real(0, 9))


@generator("RandomNormalLike", "RandomUniformLike", "Bernoulli")
def random_like(d: Draft) -> None:
    d.tensor(d.shape(1, 3, 0), "T1", 0, 1, kinds="f")
    d.maybe(dtype=d.pick([1, 11]), seed=d.real(0, 9))
