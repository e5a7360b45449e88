"""Translations that torch's exporter is given beside its own: one `nn.LSTM` layer becomes one ONNX
LSTM node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnxscript
import torch
from onnx import TensorProto
from torch import nn

# The operators take plain lists for constants, which their annotations leave out.
op: Any = onnxscript.opset20


def lstm_translation(module: nn.Module) -> Mapping[Callable[..., Any], Callable[..., Any]]:
    """That of this module's LSTMs: none if one of them is of another kind."""
    lstms = [part for part in module.modules() if isinstance(part, nn.LSTM)]
    simple = all(
        lstm.num_layers == 1 and not lstm.bidirectional and lstm.bias and not lstm.proj_size
        for lstm in lstms
    )
    return {torch.ops.aten.lstm.input: _lstm} if lstms and simple else {}


def _lstm(
    sequence: Any,
    state: Sequence[Any],
    weights: Sequence[Any],
    *options: bool | int | float,
) -> tuple[Any, Any, Any]:
    """aten::lstm.input for one layer in one direction; time leads in the ONNX operator. Of its
    options the last counts, whether the batch leads."""
    *_, batch_first = options
    by_input, by_state, input_bias, state_bias = weights
    hidden_size = by_state.shape[1]
    if batch_first:
        sequence = op.Transpose(sequence, perm=[1, 0, 2])
    result, last_hidden, last_cell = op.LSTM(
        sequence,
        _gates_reordered(by_input, hidden_size),
        _gates_reordered(by_state, hidden_size),
        op.Concat(
            _gates_reordered(input_bias, hidden_size),
            _gates_reordered(state_bias, hidden_size),
            axis=1,
        ),
        None,
        state[0],
        state[1],
        hidden_size=hidden_size,
    )
    result = op.Squeeze(result, [1])
    if batch_first:
        result = op.Transpose(result, perm=[1, 0, 2])
    return result, last_hidden, last_cell


def _gates_reordered(gates: Any, hidden_size: int) -> Any:
    """From torch's order (input, forget, cell, output) to ONNX's (input, output, forget, cell)."""
    entry = op.Slice(gates, [0], [hidden_size], [0])
    forget_and_cell = op.Slice(gates, [hidden_size], [3 * hidden_size], [0])
    output = op.Slice(gates, [3 * hidden_size], [4 * hidden_size], [0])
    return op.Unsqueeze(op.Concat(entry, output, forget_and_cell, axis=0), [0])


def translations(module: nn.Module) -> Mapping[Callable[..., Any], Callable[..., Any]]:
    """The translation table for this module."""
    return {torch.ops.aten._is_all_true.default: _is_all_true, **lstm_translation(module)}


def _is_all_true(condition: Any) -> Any:
    """aten::_is_all_true, which modules that check the values of a tensor trace to."""
    smallest = op.ReduceMin(op.Cast(condition, to=TensorProto.INT32), keepdims=0)
    return op.Cast(smallest, to=TensorProto.BOOL)
