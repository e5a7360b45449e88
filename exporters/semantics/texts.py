"""Operators on texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from onnx.reference.op_run import OpRun

_CASES: dict[str, Callable[[str], str]] = {"LOWER": str.lower, "UPPER": str.upper, "NONE": str}


class StringNormalizer(OpRun):
    """Elements that are no stop words, in one case.

    onnx's takes accents and empty texts away too, and stop words out of longer texts.
    """

    def _run(
        self,
        x: np.ndarray,
        case_change_action: str = "NONE",
        is_case_sensitive: int = 0,
        locale: str | None = None,
        stopwords: Sequence[str] | None = None,
    ) -> tuple[np.ndarray, ...]:
        change = _CASES[case_change_action]
        key = str if is_case_sensitive else str.lower
        stops = {key(word) for word in stopwords or ()}
        remaining = [change(text) for text in map(str, x.ravel()) if key(text) not in stops]
        result = np.array(remaining or [""], object)
        return (result.reshape(1, -1) if x.ndim > 1 else result,)


class StringSplit(OpRun):
    """Parts of each text along a new axis, and their number; onnx's fails for a single text."""

    def _run(
        self, x: np.ndarray, delimiter: str | None = None, maxsplit: int | None = None
    ) -> tuple[np.ndarray, ...]:
        most = -1 if maxsplit is None else maxsplit
        # Between words, white space at either end counts for nothing.
        parts = [
            str(text).split(delimiter, most) if delimiter else str(text).strip().split(None, most)
            for text in x.ravel()
        ]
        width = max(map(len, parts), default=0)
        rows = np.array([p + [""] * (width - len(p)) for p in parts], object)
        counts = np.array([len(p) for p in parts], np.int64)
        return rows.reshape(*x.shape, width), counts.reshape(x.shape)
