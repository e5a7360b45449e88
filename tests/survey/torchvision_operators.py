"""Lets torchvision's Python part be imported beside a torch that its compiled part does not fit.

The wheels of the package index are linked to torch's CUDA build. Beside the CPU build torchvision
has no operators of its own, and its import, on which transformers and timm depend, fails at the
shapes of two of them, so this module comes first. Networks that use them (detectors) then can't
run, all others can.
"""

from __future__ import annotations

import torch

for _name in ("nms", "qnms"):
    if not hasattr(torch.ops.torchvision, _name):
        torch.library.define(
            f"torchvision::{_name}",
            "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
        )
