"""Lets torchvision's Python part be imported beside a torch that its compiled part does not fit.

The wheels of the package index are linked to torch's CUDA build. Beside the CPU build torchvision
has no operators of its own, and its import, on which transformers and timm depend, fails at the
shapes of two of them, so this module comes first. Networks that use them (detectors) then can't
run, all others can.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import torch

_DETECTORS = ("nms", "qnms")


def _compiled_part_fits() -> bool:
    spec = find_spec("torchvision")
    if spec is None or spec.origin is None:
        return True  # nothing to mend: its import says what is missing
    try:
        for library in Path(spec.origin).parent.glob("_C*.so"):
            torch.ops.load_library(str(library))  # type: ignore[no-untyped-call]
    except OSError:
        return False
    return True


if not hasattr(torch.ops.torchvision, _DETECTORS[0]) and not _compiled_part_fits():
    for _name in _DETECTORS:
        torch.library.define(
            f"torchvision::{_name}",
            "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
        )
