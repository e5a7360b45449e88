"""Scikit-learn's bundled digits as training and test set of the digit classifiers, without torch.

1,797 images of 8 x 8 pixels in the set's own order, unshuffled, so that the split needs no
generator: the last 448 (seven batches of 64) are never trained on.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from exporters.types import MissingPackage

IMAGE_SIZE = 8
CLASSES = 10

_TEST_IMAGES = 448
_BRIGHTEST = 16.0

LabelledArrays = tuple[np.ndarray, np.ndarray]
"""Images [n, 1, 8, 8], float32 in [0, 1], and labels [n], int64 in 0 to 9."""


def training_set() -> LabelledArrays:
    """The first 1,349 images with their labels; MissingPackage without scikit-learn."""
    images, labels = _all()
    return images[:-_TEST_IMAGES], labels[:-_TEST_IMAGES]


def test_set() -> LabelledArrays:
    """The last 448 images with their labels; MissingPackage without scikit-learn."""
    images, labels = _all()
    return images[-_TEST_IMAGES:], labels[-_TEST_IMAGES:]


@cache
def _all() -> LabelledArrays:
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise MissingPackage(
            "the digits come with scikit-learn, which is not installed",
            "pip install 'graphlap[accuracy]'",
        ) from error
    pixels, labels = load_digits(return_X_y=True)
    images = (pixels / _BRIGHTEST).astype(np.float32).reshape(-1, 1, IMAGE_SIZE, IMAGE_SIZE)
    return images, labels.astype(np.int64)
