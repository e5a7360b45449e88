"""Whether outputs are right, from the references that support them and those that contradict them.

A reference says something of an engine only if it shares neither graph code nor kernels with it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

from exporters.types import EVALUATED, PACKAGED, Disagreement

_FAMILIES = {
    "ort": "ONNX Runtime",
    "onnxruntime": "ONNX Runtime",
    "openvino": "OpenVINO",
    "tensorrt": "TensorRT",
    "nvtensorrt": "TensorRT",
    "torch": "PyTorch",
}
"""How a word of a runtime's or a reference's name begins, and whose graph code or kernels that is.
What is not here, as packaged data and ONNX's evaluator, stands alone."""
_TORCH = frozenset({"PyTorch"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """`is_disputed`: right, though references contradict it that could not be put down as wrong;
    `only_own`: right by the engine's own references alone."""

    is_right: bool
    is_disputed: bool = False
    only_own: bool = False


def families(name: str) -> frozenset[str]:
    """Those of a runtime, with its device, or of a reference: an execution provider has two."""
    words = re.findall(r"[a-z0-9]+", name.lower())
    found = {family for key, family in _FAMILIES.items() for word in words if word.startswith(key)}
    return frozenset(found or {name})


def verdict(
    agreements: Mapping[str, bool],
    conflicts: Iterable[Disagreement],
    runtime: str,
    is_integer: bool,
) -> Verdict:
    """Of the outputs of a runtime, from whether each reference agrees with them.

    One independent reference is enough to acquit; a second opinion against it, of two that agree
    with each other, leaves them disputed. Without one they are wrong if two references that agree
    contradict them, the own one included, or what the model's makers say (packaged data, the torch
    module), or the own reference where there is no other, or ONNX's evaluator in integer
    arithmetic, which has one answer. `conflicts` are the references that disagree.
    """
    own = families(runtime)
    independent = [name for name in agreements if not families(name) & own]
    against = [name for name, agrees in agreements.items() if not agrees]
    apart = {frozenset((conflict.first, conflict.second)) for conflict in conflicts}
    has_second_opinion = any(frozenset(pair) not in apart for pair in combinations(against, 2))
    if any(agreements[name] for name in independent):
        return Verdict(True, is_disputed=has_second_opinion)
    is_wrong = has_second_opinion or any(
        _decides(name, independent, is_integer) for name in against
    )
    if is_wrong:
        return Verdict(False)
    return Verdict(True, is_disputed=bool(against), only_own=len(against) < len(agreements))


def _decides(name: str, independent: Collection[str], is_integer: bool) -> bool:
    """Whether a reference that contradicts outputs is enough, where no independent one supports
    them."""
    return (
        name == PACKAGED
        or families(name) == _TORCH
        or (not independent)
        or (is_integer and name == EVALUATED)
    )
