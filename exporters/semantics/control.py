"""Loop: what each turn gives is stacked along a new first axis, whatever its own shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx.reference.ops.op_loop import Loop as _OnnxLoop


class Loop(_OnnxLoop):
    """onnx's joins what turns give along its first axis, and takes no condition for a false one.

    A turn that leaves its shape open, because there is none, is refused.
    """

    body: Any
    _run_body: Callable[..., list[Any]]

    def _run(
        self,
        M: np.ndarray | None = None,  # noqa: N803 - the definition's names
        cond: np.ndarray | None = None,
        *states: Any,
        context: dict[str, Any] | None = None,
        body: Any = None,
        attributes: Any = None,
        bindings: Any = None,
    ) -> tuple[Any, ...]:
        names = self.body.input_names
        limit = None if M is None else int(np.asarray(M).item())
        goes_on = cond is None or bool(cond)
        given: list[list[Any]] = [[] for _ in range(self.K)]
        turn = 0
        while goes_on and (limit is None or turn < limit):
            feeds = dict(context or {})
            feeds |= zip(names, (np.array(turn, np.int64), np.array(True), *states), strict=True)
            goes_on_now, *values = self._run_body(feeds, attributes=attributes, bindings=bindings)
            goes_on = bool(goes_on_now)
            states = tuple(values[: self.N])
            for parts, value in zip(given, values[self.N :], strict=True):
                parts.append(value)
            turn += 1
        if self.K and not turn:
            raise NotImplementedError("it cannot tell the shape of what no turn of a Loop gives")
        return self._check_and_fix_outputs((*states, *(np.stack(parts) for parts in given)))
