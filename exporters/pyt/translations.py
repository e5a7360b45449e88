"""What torch's exporter is told for a module, beside the translations that it has itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import onnxscript
import torch
from onnx import TensorProto
from torch import nn

from exporters.pyt.lstm import lstm_translation

# The operators take plain lists for constants, which their annotations leave out.
op: Any = onnxscript.opset20


def translations(module: nn.Module) -> Mapping[Callable[..., Any], Callable[..., Any]]:
    """The translation table for this module."""
    return {torch.ops.aten._is_all_true.default: _is_all_true, **lstm_translation(module)}


def _is_all_true(condition: Any) -> Any:
    """aten::_is_all_true, which modules that check the values of a tensor trace to."""
    smallest = op.ReduceMin(op.Cast(condition, to=TensorProto.INT32), keepdims=0)
    return op.Cast(smallest, to=TensorProto.BOOL)
