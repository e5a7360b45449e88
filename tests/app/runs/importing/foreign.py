"""Files of programs that do not run here, as their published source writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

NEWER, OLDER = ("H2d", "h2d", "D2h", "d2h"), ("In", "in", "Out", "out")
"""What trtexec has called the copies, in its keys for their ends and for their durations."""


def trtexec_times(
    computes_ms: Sequence[float],
    words: Sequence[str] = NEWER,
    more: Mapping[str, float] | None = None,
) -> str:
    """What `exportJSONTrace` of TensorRT's samples/common/sampleReporting.cpp writes: copies of
    0.25 and 0.5 ms around each compute, a query every 10 ms."""
    input_copy, copy_in, output_copy, copy_out = words
    queries = []
    for number, compute in enumerate(computes_ms):
        start_ms = 300.0 + 10.0 * number
        queries.append(
            {
                "startEnqMs": start_ms - 0.01,
                "endEnqMs": start_ms,
                f"start{input_copy}Ms": start_ms,
                f"end{input_copy}Ms": start_ms + 0.25,
                "startComputeMs": start_ms + 0.25,
                "endComputeMs": start_ms + 0.25 + compute,
                f"start{output_copy}Ms": start_ms + 0.25 + compute,
                f"end{output_copy}Ms": start_ms + 0.75 + compute,
                f"{copy_in}Ms": 0.25,
                "computeMs": compute,
                f"{copy_out}Ms": 0.5,
                "latencyMs": 0.75 + compute,
                **(more or {}),
            }
        )
    return json.dumps(queries)
