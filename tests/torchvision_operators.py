"""Lets torchvision be imported where its compiled operators do not fit the torch build.

The registry's wheels are linked to torch's CUDA build, and with a CPU build none of their compiled
operators is there. Only detection calls them; the import fails for want of their names.
"""

import torch

if not hasattr(torch.ops.torchvision, "nms"):
    for name in ("nms", "qnms"):
        torch.library.define(
            f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
        )
