"""What the card's bf16 and float32 arithmetic may do to an output, and whether it did more.

ONNX Runtime's CPU is given operands that are rounded to bf16 beforehand. What may then differ
is one rounding of the output to bf16 and the order in which float32 values were put together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import onnx
from hypothesis import reject, settings
from hypothesis import strategies as st
from onnx import numpy_helper

from runtimes.fpga.numerics.operator import round_bf16
from tests.runtimes.fpga.ort_sessions import card_session, cpu_session, taken

few = settings(max_examples=30)
seeds = st.integers(0, 2**32 - 1)

BF16_DIGITS = 8
"""Binary digits of a bf16 value, the leading one counted."""
LEAST_EXPONENT = -126
"""Of float32 and bf16 alike; values below 2**-126 keep the spacing that they have there."""
FLOAT32_ROUNDING = 2.0**-24
"""The largest relative error of one float32 operation."""


def random(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def bf16_spacing(values: np.ndarray) -> np.ndarray:
    """The distance between the bf16 numbers around each value, one unit in the last place."""
    _, exponent = np.frexp(values.astype(np.float64))  # |value| in [1/2, 1) * 2**exponent
    exponent = np.where(values == 0, LEAST_EXPONENT, np.maximum(exponent - 1, LEAST_EXPONENT))
    return np.ldexp(1.0, exponent - (BF16_DIGITS - 1))


def room(expected: np.ndarray, roundings: int, magnitude: np.ndarray | float) -> np.ndarray:
    """How far an output that was rounded to bf16 may lie from one that was not.

    Each of the two float32 results is within `roundings` x 2**-24 x `magnitude` of the true
    one (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2: a sum of n terms
    within (n-1) u times the sum of their magnitudes, in any order). The rounding to bf16 adds
    half a spacing; where the two lie on different sides of a power of two, and so on different
    spacings, at most the distance between them once more.
    """
    rounding_room = 2 * roundings * FLOAT32_ROUNDING * np.maximum(np.abs(expected), magnitude)
    return bf16_spacing(expected) / 2 + 2 * rounding_room


def agree(
    proto: onnx.ModelProto,
    feeds: Mapping[str, np.ndarray],
    roundings: int,
    magnitude: np.ndarray | float = 0.0,
) -> None:
    """The card took every node and is as near to the CPU as its arithmetic allows.

    `roundings` is how many float32 operations lie between operands and output, and
    `magnitude` how large the values are that they put together, where they are larger than
    the output: a sum may cancel.
    """
    card = card_session(proto)
    assert len(taken(card)) == len(proto.graph.node)
    outputs = card.run(None, dict(feeds))
    for actual, cpu_output in zip(outputs, on_cpu(proto, feeds, round_bf16), strict=True):
        assert_within(actual, cpu_output, roundings, magnitude)


def agree_as_sums(proto: onnx.ModelProto, feeds: Mapping[str, np.ndarray], terms: int) -> None:
    """As `agree`, for outputs that are sums of so many products of what goes in.

    With the magnitudes of all that goes in, the same graph gives the sum of the magnitudes.
    """
    (magnitude,) = on_cpu(proto, feeds, lambda array: np.abs(round_bf16(array)))
    agree(proto, feeds, terms + 2, magnitude)  # a factor before and after the sum


def assert_within(
    actual: np.ndarray, expected: np.ndarray, roundings: int, magnitude: np.ndarray | float = 0.0
) -> None:
    assert actual.shape == expected.shape
    distance = np.abs(actual.astype(np.float64) - expected)
    assert (distance <= room(expected, roundings, magnitude)).all()


def on_cpu(
    proto: onnx.ModelProto,
    feeds: Mapping[str, np.ndarray],
    change: Callable[[np.ndarray], np.ndarray],
) -> list[np.ndarray]:
    """What ONNX Runtime's CPU gives for operands that are changed so, constants included."""
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for tensor in copy.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if array.dtype == np.float32:
            tensor.CopyFrom(numpy_helper.from_array(change(array), tensor.name))
    try:
        outputs = cpu_session(copy).run(
            None, {name: change(array) for name, array in feeds.items()}
        )
    except Exception:
        reject()  # ONNX Runtime's CPU lacks some combinations of attributes
    return [np.asarray(output) for output in outputs]
