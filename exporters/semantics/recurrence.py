"""RNN, GRU and LSTM in every form: directions, lengths of sequences, clipping, activations.

onnx's evaluator passes over lengths, clipping, and most activations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from onnx.reference.op_run import OpRun

Function = Callable[[np.ndarray], np.ndarray]


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


_ACTIVATIONS: dict[str, Function] = {
    "affine": lambda x: x,
    "elu": lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x),
    "hardsigmoid": lambda x: np.clip(0.2 * x + 0.5, 0, 1),
    "leakyrelu": lambda x: np.where(x < 0, 0.01 * x, x),
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": _sigmoid,
    "softplus": lambda x: np.logaddexp(x, 0),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "tanh": np.tanh,
    "thresholdedrelu": lambda x: np.where(x > 1, x, 0),
}
"""With the default parameters of the operators of these names."""


class _Recurrent(OpRun):
    """One direction after the other, step by step, in double precision."""

    gates: ClassVar[int]
    defaults: ClassVar[tuple[str, ...]]

    def _run(
        self,
        x: np.ndarray,
        w: np.ndarray,
        r: np.ndarray,
        b: np.ndarray | None = None,
        sequence_lens: np.ndarray | None = None,
        initial_h: np.ndarray | None = None,
        initial_c: np.ndarray | None = None,
        p: np.ndarray | None = None,
        activation_alpha: Sequence[float] | None = None,
        activation_beta: Sequence[float] | None = None,
        activations: Sequence[str] | None = None,
        clip: float | None = None,
        direction: str | None = None,
        hidden_size: int | None = None,
        layout: int | None = None,
        **settings: Any,
    ) -> tuple[np.ndarray, ...]:
        if activation_alpha or activation_beta:
            raise NotImplementedError(
                f"it knows the activations of {self.onnx_node.op_type} with default parameters only"
            )
        steps = np.swapaxes(x, 0, 1) if layout else x
        length, batch = steps.shape[:2]
        directions, state_size = r.shape[0], r.shape[-1]
        lengths = np.full(batch, length) if sequence_lens is None else np.asarray(sequence_lens)
        names = list(activations or self.defaults * directions)
        bound = clip or np.inf

        def state(initial: np.ndarray | None, place: int) -> np.ndarray:
            if initial is None:
                return np.zeros((batch, state_size))
            return np.asarray(initial[:, place] if layout else initial[place], np.float64)

        y = np.zeros((length, directions, batch, state_size))
        ends: list[tuple[np.ndarray, ...]] = []
        for place in range(directions):
            functions = [_activation(n) for n in names[place * len(self.defaults) :]]
            weights = [np.asarray(a[place], np.float64) for a in (w, r)]
            bias = (
                np.zeros(2 * self.gates * state_size) if b is None else b[place].astype(np.float64)
            )
            weights += [
                bias,
                np.zeros(3 * state_size) if p is None else p[place].astype(np.float64),
            ]
            states: tuple[np.ndarray, ...] = (state(initial_h, place), state(initial_c, place))
            backwards = direction == "reverse" or place == 1
            for positions, active in _order(lengths, length, backwards):
                inputs = steps[positions, np.arange(batch)].astype(np.float64)
                new = self._step(inputs, states, weights, functions, bound, settings)
                states = tuple(
                    np.where(active[:, None], result, old)
                    for result, old in zip(new, states, strict=True)
                )
                rows = np.flatnonzero(active)
                y[positions[rows], place, rows] = states[0][rows]
            ends.append(states)
        last = [np.stack([states[part] for states in ends]) for part in (0, 1)]
        if layout:
            y = y.transpose(2, 0, 1, 3)
            last = [np.swapaxes(part, 0, 1) for part in last]
        result = tuple(part.astype(x.dtype) for part in (y, *last))
        return result[: len(self.onnx_node.output)]

    def _step(
        self,
        x: np.ndarray,
        states: tuple[np.ndarray, ...],
        weights: list[np.ndarray],
        functions: list[Function],
        bound: float,
        settings: dict[str, Any],
    ) -> tuple[np.ndarray, ...]:
        """The next hidden and cell state."""
        raise NotImplementedError


def _order(
    lengths: np.ndarray, length: int, backwards: bool
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each turn the step that each sequence is at, and which of them have one."""
    for turn in range(length):
        active = turn < lengths
        positions = lengths - 1 - turn if backwards else np.full(len(lengths), turn)
        yield np.where(active, positions, 0).astype(np.int64), active


def _activation(name: str) -> Function:
    function = _ACTIVATIONS.get(name.lower())
    if function is None:
        raise NotImplementedError(f"it does not know the activation {name}")
    return function


def _clip(x: np.ndarray, bound: float) -> np.ndarray:
    return np.clip(x, -bound, bound)


class RNN(_Recurrent):
    gates = 1
    defaults = ("Tanh",)

    def _step(
        self,
        x: np.ndarray,
        states: tuple[np.ndarray, ...],
        weights: list[np.ndarray],
        functions: list[Function],
        bound: float,
        settings: dict[str, Any],
    ) -> tuple[np.ndarray, ...]:
        w, r, bias, _ = weights
        wb, rb = np.split(bias, 2)
        return functions[0](_clip(x @ w.T + states[0] @ r.T + wb + rb, bound)), states[1]


class GRU(_Recurrent):
    gates = 3
    defaults = ("Sigmoid", "Tanh")

    def _step(
        self,
        x: np.ndarray,
        states: tuple[np.ndarray, ...],
        weights: list[np.ndarray],
        functions: list[Function],
        bound: float,
        settings: dict[str, Any],
    ) -> tuple[np.ndarray, ...]:
        w, r, bias, _ = weights
        wb, rb = np.split(bias, 2)
        h = states[0]
        f, g = functions[:2]
        input_gates = np.split(x @ w.T + wb, 3, 1)
        state_gates = np.split(h @ r.T + rb, 3, 1)
        update = f(_clip(input_gates[0] + state_gates[0], bound))
        reset = f(_clip(input_gates[1] + state_gates[1], bound))
        if settings.get("linear_before_reset"):
            candidate = reset * state_gates[2]
        else:
            size = h.shape[1]
            candidate = (reset * h) @ r[2 * size :].T + rb[2 * size :]
        candidate_state = g(_clip(input_gates[2] + candidate, bound))
        return (1 - update) * candidate_state + update * h, states[1]


class LSTM(_Recurrent):
    gates = 4
    defaults = ("Sigmoid", "Tanh", "Tanh")

    def _step(
        self,
        x: np.ndarray,
        states: tuple[np.ndarray, ...],
        weights: list[np.ndarray],
        functions: list[Function],
        bound: float,
        settings: dict[str, Any],
    ) -> tuple[np.ndarray, ...]:
        w, r, bias, peepholes = weights
        wb, rb = np.split(bias, 2)
        h, c = states
        f, g, out = functions[:3]
        into_input, into_output, into_forget = np.split(peepholes, 3)
        i, o, forget, cell = np.split(x @ w.T + h @ r.T + wb + rb, 4, 1)
        i = f(_clip(i + into_input * c, bound))
        if settings.get("input_forget"):
            forget = 1 - i
        else:
            forget = f(_clip(forget + into_forget * c, bound))
        c = forget * c + i * g(_clip(cell, bound))
        o = f(_clip(o + into_output * c, bound))
        return o * out(c), c
