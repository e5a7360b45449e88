"""The times of operators from the file that ONNX Runtime's profiler writes."""

from __future__ import annotations

import json
from pathlib import Path

from runtimes.base import OpTime

_KERNEL, _RUN = "_kernel_time", "model_run"


def op_times(path: Path, runs: int) -> tuple[OpTime, ...]:
    """The mean time of each kernel in the last `runs` runs, in the order of execution.

    The profiler counts whole microseconds. The time of a node with a body, such as a loop,
    contains that of the nodes in it.
    """
    events = sorted(json.loads(path.read_text("utf-8")), key=lambda event: event["ts"])
    begun = [event["ts"] for event in events if event["name"] == _RUN][-runs]
    spent_us: dict[tuple[str, str, str, str], float] = {}
    for event in events:
        if event["ts"] >= begun and event["name"].endswith(_KERNEL):
            facts, name = event["args"], event["name"].removesuffix(_KERNEL)
            key = (name, facts["node_index"], facts["op_name"], facts["provider"])
            spent_us[key] = spent_us.get(key, 0.0) + event["dur"]
    return tuple(
        OpTime(name or f"node {index}", op, total / runs, f"{op} of {provider}")
        for (name, index, op, provider), total in spent_us.items()
    )
