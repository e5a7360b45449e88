"""Short names for the cases of a run: model and runtime, and only what differs beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from app.cases.case import Case


def labels(cases: Sequence[Case]) -> dict[str, str]:
    """Case id -> label, such as `cnn_tiny · ort-cpu · batch 4`."""
    varying = [part for part in _PARTS if len({part(case) for case in cases}) > 1]
    return {
        case.case_id: " · ".join(
            [model_name(case.model), case.runtime, *filter(None, (part(case) for part in varying))]
        )
        for case in cases
    }


def model_name(model: str) -> str:
    """A catalogue name as it is, a file by its stem."""
    return Path(model).stem if model.endswith(".onnx") else model


def _scenario(case: Case) -> str:
    scenario = str(case.scenario).replace("_", " ")
    policy = f" ({case.wait_policy})" if case.wait_policy != "spin" else ""
    return scenario + policy


def _axes(case: Case) -> str:
    return _joined(case.axes, " ")


def _options(case: Case) -> str:
    return _joined(case.options, "=") or "default options"


def _joined(values: Mapping[str, object], mark: str) -> str:
    pairs: Iterable[str] = (f"{name}{mark}{values[name]}" for name in sorted(values))
    return " ".join(pairs)


_PARTS: tuple[Callable[[Case], str], ...] = (
    lambda case: case.precision,
    _axes,
    lambda case: f"{case.threads} threads" if case.threads != 1 else "1 thread",
    _options,
    _scenario,
)
