"""Parameters and multiply-accumulates, counted from the torch module, not from its graph.

Export folds norms away and unrolls what it likes; the module is what the tables mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_TRANSPOSED_TYPES = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
_RECURRENT_GATES: Mapping[type[nn.Module], int] = {nn.LSTM: 4, nn.GRU: 3, nn.RNN: 1}
_COUNTED_TYPES = (*_CONVOLUTIONS, *_TRANSPOSED_TYPES, nn.Linear, *_RECURRENT_GATES)
_BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
_NOT_MULTIPLIED = (*_BATCH_NORMS, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm, nn.Embedding)


def parameter_counts(module: nn.Module) -> tuple[int, int]:
    """(parameters as torch counts them, the same with every batch norm's four vectors).

    The second adds each batch norm's running mean and variance, and its gamma and beta
    where the module leaves them out because they are fixed at one and zero.
    """
    parameters = sum(parameter.numel() for parameter in module.parameters())
    with_buffers = parameters
    for part in module.modules():
        if isinstance(part, _BATCH_NORMS):
            with_buffers += part.num_features * (2 if part.affine else 4)
    return parameters, with_buffers


def macs(module: nn.Module, inputs: Sequence[Tensor]) -> int | None:
    """Multiply-accumulates of one forward pass, biases, norms and element-wise work left out.

    A convolution takes (input channels / groups) x kernel elements for each output element,
    a transposed one (output channels / groups) x kernel elements for each input element; a
    linear layer takes its input features for each output element; a recurrent layer takes
    gates x hidden x (inputs + hidden) for each time step, direction and batch row. None if
    a matrix of weights belongs to a module that none of these formulas covers.
    """
    for part in module.modules():
        is_known = isinstance(part, (*_COUNTED_TYPES, *_NOT_MULTIPLIED))
        if not is_known and any(p.dim() >= 2 for p in part.parameters(recurse=False)):
            return None
    total = 0

    def count(part: nn.Module, arguments: tuple[Any, ...], result: Any) -> None:
        nonlocal total
        total += _macs_of(part, arguments[0], result)

    hooks = [
        part.register_forward_hook(count)
        for part in module.modules()
        if isinstance(part, _COUNTED_TYPES)
    ]
    try:
        with torch.inference_mode():
            module(*inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return total


def _macs_of(part: nn.Module, output: Tensor, input_tensor: Any) -> int:
    if isinstance(part, _CONVOLUTIONS):
        return int(input_tensor.numel() * part.in_channels // part.groups * prod(part.kernel_size))
    if isinstance(part, _TRANSPOSED_TYPES):
        return output.numel() * part.out_channels // part.groups * prod(part.kernel_size)
    if isinstance(part, nn.Linear):
        return int(input_tensor.numel() * part.in_features)
    assert isinstance(part, nn.RNNBase)
    # Every recurrent weight matrix [gates * hidden, columns] meets each time step once.
    steps = output.numel() // part.input_size
    return steps * sum(weight.numel() for weight in part.parameters() if weight.dim() == 2)
