"""What a compiled session says of itself, as the fields of a round's result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from runtimes.execution import Execution, NodePlacement

_NODES_NAMED = 5


def executed(execution: Execution) -> dict[str, Any]:
    """What really runs; a float node that the engine did not take makes it partial."""
    told: dict[str, Any] = {
        "clock": execution.clock,
        "boundary": execution.boundary,
        "call_path": execution.call_path,
        "execution_provider": execution.provider,
        "precision": execution.precision,
        "device_name": execution.device_name,
        "facts": dict(execution.facts),
    }
    elsewhere = execution.elsewhere
    if not elsewhere:
        return told
    return told | {
        "status": "partial",
        "reason": f"not all of the graph runs on {execution.provider}: {_nodes(elsewhere)}",
        "placement": tuple(asdict(node) for node in elsewhere),
        "facts": {
            **execution.facts,
            "fallback_ops": _operators(elsewhere),
            **_partitions(execution),
        },
    }


def _partitions(execution: Execution) -> dict[str, int | str]:
    """How often the providers change, and for which nodes; nothing where that is not known."""
    if not execution.partitions:
        return {}
    splitting = _nodes(execution.splitting)
    return {
        "partitions": len(execution.partitions),
        **({"splitting_nodes": splitting} if splitting else {}),
    }


def _nodes(elsewhere: Sequence[NodePlacement]) -> str:
    named = [f"{n.op} {n.node!r} on {n.provider}" for n in elsewhere[:_NODES_NAMED]]
    more = len(elsewhere) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def _operators(elsewhere: Sequence[NodePlacement]) -> str:
    """`Resize 2, Loop 1`: the most frequent first."""
    counted = Counter(node.op for node in elsewhere).most_common()
    return ", ".join(f"{op} {count}" for op, count in counted)
