"""Matrix products, LSTM and GRU: bf16 operands, float32 accumulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from runtimes.fpga.numerics.operator import Call, Kernel, Refused, operator, round_bf16


def _refuse_empty(call: Call) -> None:
    if 0 in (*call.shape(0), *call.shape(1)):
        raise Refused("one of its operands has no elements")


@operator("MatMul")
def matmul(call: Call) -> Kernel:
    _refuse_empty(call)
    return np.matmul


@operator("Gemm", oldest=7)
def gemm(call: Call) -> Kernel:
    """alpha * A' B' + beta * C with A' [M,K], B' [K,N], C broadcast to [M,N]."""
    _refuse_empty(call)
    alpha, beta = call.number("alpha", 1.0), call.number("beta", 1.0)
    transpose_a, transpose_b = call.integer("transA", 0), call.integer("transB", 0)

    def run(a: np.ndarray, b: np.ndarray, c: np.ndarray | None = None) -> np.ndarray:
        y = (a.T if transpose_a else a) @ (b.T if transpose_b else b)
        if alpha != 1:
            y *= alpha
        if c is not None and beta != 0:
            y += c if beta == 1 else beta * c
        return y

    return run


Activation = Callable[[np.ndarray], np.ndarray]

_ACTIVATIONS: dict[str, Activation] = {
    "sigmoid": expit,
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
}


@dataclass(frozen=True, slots=True)
class _Cell:
    """What LSTM and GRU nodes share; `activations` are per direction, in ONNX's order."""

    hidden: int
    reverse: tuple[bool, ...]
    activations: tuple[tuple[Activation, ...], ...]
    clip: np.float32 | None
    batch_first: bool

    def limited(self, gates: np.ndarray) -> np.ndarray:
        return gates if self.clip is None else np.clip(gates, -self.clip, self.clip)


def _cell(call: Call, gates: int, default: tuple[str, ...]) -> _Cell:
    direction = call.text("direction", "forward")
    reverse = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
    if direction not in reverse:
        raise Refused(f"its direction '{direction}' is unknown")
    count = len(reverse[direction])
    activation_names = call.attribute("activations", default * count)
    names = tuple(map(str, activation_names)) if isinstance(activation_names, tuple) else ()
    unknown_names = [name for name in names if name.lower() not in _ACTIVATIONS]
    if unknown_names or len(names) != len(default) * count:
        raise Refused(f"its activations {', '.join(names)} are not among Sigmoid, Tanh and Relu")
    activations = tuple(_ACTIVATIONS[name.lower()] for name in names)
    batch_first = bool(call.integer("layout", 0))
    lengths = call.constant(4, "sequence_lens")
    steps = call.shape(0)[1 if batch_first else 0]
    if lengths is not None and not np.all(lengths == steps):
        raise Refused("its sequences differ in length")
    return _Cell(
        hidden=call.shape(1)[1] // gates,
        reverse=reverse[direction],
        activations=tuple(
            activations[i * len(default) : (i + 1) * len(default)] for i in range(count)
        ),
        clip=call.number("clip", 0.0) if "clip" in call.node.attributes else None,
        batch_first=batch_first,
    )


def _project(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Every step's input product at once: [T,N,I] x [G,I] -> [T,N,G]."""
    steps, batch, size = x.shape
    product: np.ndarray = x.reshape(steps * batch, size) @ w.T
    return product.reshape(steps, batch, -1)


def _begin(
    cell: _Cell, x: np.ndarray, *initial_states: np.ndarray | None
) -> tuple[np.ndarray, ...]:
    """The input as [T,N,I], room for the outputs, and states as [directions, N, H]."""
    states = (
        np.zeros((len(cell.reverse), x.shape[not cell.batch_first], cell.hidden), np.float32)
        if state is None
        else np.array(state.swapaxes(0, 1) if cell.batch_first else state)
        for state in initial_states
    )
    x = x.swapaxes(0, 1) if cell.batch_first else x
    y = np.empty((len(x), len(cell.reverse), x.shape[1], cell.hidden), np.float32)
    return (x, y, *states)


def _laid_out(cell: _Cell, y: np.ndarray, *states: np.ndarray) -> tuple[np.ndarray, ...]:
    """Outputs [T,directions,N,H] and [directions,N,H] in the layout that the node asks for."""
    if not cell.batch_first:
        return (y, *states)
    return (y.transpose(2, 0, 1, 3), *(state.swapaxes(0, 1) for state in states))


@operator("LSTM", oldest=7)
def lstm(call: Call) -> Kernel:
    """X [T,N,I], W [D,4H,I], R [D,4H,H], B [D,8H], P [D,3H]; gates in the order i, o, f, c."""
    cell = _cell(call, 4, ("Sigmoid", "Tanh", "Tanh"))
    is_coupled = bool(call.integer("input_forget", 0))
    size = cell.hidden

    def run(
        x: np.ndarray,
        w: np.ndarray,
        r: np.ndarray,
        *optional: np.ndarray | None,
    ) -> tuple[np.ndarray, ...]:
        b, _lengths, h0, c0, p = (*optional, *[None] * 5)[:5]
        x, y, h_end, c_end = _begin(cell, x, h0, c0)
        for d, backward in enumerate(cell.reverse):
            sigma, g, output = cell.activations[d]
            input_gates = _project(x, w[d])
            if b is not None:
                input_gates += b[d, : 4 * size] + b[d, 4 * size :]
            peep = np.zeros((3, size), np.float32) if p is None else p[d].reshape(3, size)
            h, c = h_end[d], c_end[d]
            for t in range(len(x))[:: -1 if backward else 1]:
                gates = input_gates[t] + h @ r[d].T
                i, o, f, z = (gates[:, k * size : (k + 1) * size] for k in range(4))
                i = sigma(cell.limited(i + peep[0] * c))
                f = 1 - i if is_coupled else sigma(cell.limited(f + peep[2] * c))
                c = f * c + i * g(cell.limited(z))
                o = sigma(cell.limited(o + peep[1] * c))
                h = y[t, d] = round_bf16(o * output(c))
                c = round_bf16(c)
            h_end[d], c_end[d] = h, c
        return _laid_out(cell, y, h_end, c_end)

    return run


@operator("GRU", oldest=7)
def gru(call: Call) -> Kernel:
    """X [T,N,I], W [D,3H,I], R [D,3H,H], B [D,6H]; gates in the order z, r, h."""
    cell = _cell(call, 3, ("Sigmoid", "Tanh"))
    reset_after = bool(call.integer("linear_before_reset", 0))
    size = cell.hidden

    def run(
        x: np.ndarray,
        w: np.ndarray,
        r: np.ndarray,
        b: np.ndarray | None = None,
        _lengths: np.ndarray | None = None,
        h0: np.ndarray | None = None,
    ) -> tuple[np.ndarray, ...]:
        x, y, h_end = _begin(cell, x, h0)
        for d, backward in enumerate(cell.reverse):
            sigma, g = cell.activations[d]
            bias = np.zeros(6 * size, np.float32) if b is None else b[d]
            input_gates = _project(x, w[d]) + bias[: 3 * size]
            gate_bias, state_bias = bias[3 * size : 5 * size], bias[5 * size :]
            gate_r, state_r = r[d, : 2 * size], r[d, 2 * size :]
            h = h_end[d]
            for t in range(len(x))[:: -1 if backward else 1]:
                gates = sigma(
                    cell.limited(input_gates[t, :, : 2 * size] + h @ gate_r.T + gate_bias)
                )
                z, reset = gates[:, :size], gates[:, size:]
                if reset_after:
                    recurrent = reset * (h @ state_r.T + state_bias)
                else:
                    recurrent = round_bf16(reset * h) @ state_r.T + state_bias
                candidate = g(cell.limited(input_gates[t, :, 2 * size :] + recurrent))
                h = y[t, d] = round_bf16((1 - z) * candidate + z * h)
            h_end[d] = h
        return _laid_out(cell, y, h_end)

    return run
