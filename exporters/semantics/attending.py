"""Attention: the product of queries and keys that it can give as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx.reference.ops.op_attention import Attention as _OnnxAttention

_PRODUCT = 3
"""The place of that output."""


class Attention(_OnnxAttention):
    """onnx's gives the product after its soft cap where it is asked for before."""

    def _run(  # type: ignore[override]
        self,
        *inputs: np.ndarray,
        softcap: float | None = None,
        qk_matmul_output_mode: int | None = None,
        **settings: Any,
    ) -> tuple[np.ndarray, ...]:
        def attention(cap: float | None) -> list[np.ndarray]:
            compute: Any = super(Attention, self)._run
            return list(
                compute(
                    *inputs, softcap=cap, qk_matmul_output_mode=qk_matmul_output_mode, **settings
                )
            )

        results = attention(softcap)
        if softcap and not qk_matmul_output_mode and len(self.onnx_node.output) > _PRODUCT:
            results[_PRODUCT] = attention(None)[_PRODUCT]
        return tuple(results[: len(self.onnx_node.output)])
