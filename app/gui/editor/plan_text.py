"""Keys of a whole plan that a form takes as text, each read as its flag on the command line is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit

from app.cases.digits import divided, plain
from app.cases.percentiles import written
from app.plan.command_line import parse
from app.plan.flags import of_whole_plan
from app.plan.plan import Plan
from exporters.types import GraphlapError


@dataclass(frozen=True, slots=True)
class PlanText:
    """`term` names the field and its entry in the glossary; `text` writes a value as the flag
    takes it. The words of a flag that is `repeated` stand apart by spaces."""

    key: str
    flag: str
    term: str
    example: str
    text: Callable[[Any], str]
    repeated: bool = False

    def value(self, text: str) -> Any:
        """What the plan holds for this text, the default for none; PlanError if it says nothing."""
        words = text.strip().rstrip(",").strip()
        if not words:
            return Plan.model_fields[self.key].get_default(call_default_factory=True)
        given = words.split() if self.repeated else [words]
        return of_whole_plan(parse([f"{self.flag}={word}" for word in given]))[self.key]


def _plain(value: str) -> str:
    return value


def _number(value: float | None) -> str:
    return "" if value is None else plain(value)


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{plain(value)}s"


def _share(value: float) -> str:
    return f"{divided(value, 0.01)}%"


def _most(value: float | None) -> str:
    return "" if value is None else _share(value)


def _joined(values: Sequence[str]) -> str:
    return ", ".join(values)


def _percentiles(values: Sequence[float]) -> str:
    return ", ".join(map(written, values))


def _precise(asked: Mapping[str, float]) -> str:
    return ", ".join(f"{name}={_share(share)}" for name, share in asked.items())


def _ranges(ranges: Mapping[str, Sequence[float]]) -> str:
    return " ".join(f"{name}={plain(low)}:{plain(high)}" for name, (low, high) in ranges.items())


def _pairs(pairs: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in pairs.items())


def _microseconds(value: float | None) -> str:
    return "" if value is None else f"{plain(value)}us"


FIGURES = (
    PlanText("percentiles", "--percentiles", "percentiles", "50, 90, 95, 99, 99.9", _percentiles),
    PlanText("precise", "--precise", "precise", "p50=1%, p99=10% … (Rounds as given)", _precise),
    PlanText("baseline", "--baseline", "baseline", "ort-cpu … (none)", _plain),
    PlanText("band", "--band", "band", "2%", _share),
    PlanText("judge", "--judge", "judged figures", "p50, p99", _joined),
    PlanText("aa", "--aa", "comparisons with itself", "20 … (none)", _number),
    PlanText("anchor", "--anchor", "anchor", "ort-cpu … (none)", _plain),
    PlanText("cold_start", "--cold-start", "cold starts", "20 … (none)", _number),
    PlanText("page_cache", "--page-cache", "page cache", "warm", _plain),
    PlanText("slo", "--slo", "latency target", "p99=5ms … (none)", _plain),
    PlanText("tune", "--tune", "tuning goal", "throughput … (none)", _plain),
    PlanText("max_error", "--max-error", "largest error", "2% … (as types allow)", _most),
    PlanText("deadline_us", "--deadline", "deadline", "100us … (none)", _microseconds),
)
LIMITS = (
    PlanText("budget_s", "--budget", "budget", "10m … (none)", _seconds),
    PlanText("spread_s", "--spread", "spread", "10m … (the profile's)", _seconds),
    PlanText("time_limit_s", "--time-limit", "time limit", "90s … (the profile's)", _seconds),
    PlanText(
        "device_memory_limit",
        "--device-memory-limit",
        "device memory limit",
        "16GiB … (all of the GPU's)",
        _plain,
    ),
    PlanText("tolerance", "--tolerance", "tolerance", "1e-3 … (as the types round)", _number),
)
PLACES = (
    PlanText("cores", "--cores", "cores", "2,3 … (as the system likes)", _plain),
    PlanText("realtime", "--realtime", "priority", "1 to 99 … (the usual)", _number),
    PlanText("cluster", "--cluster", "cluster", "ssh:board1,board2 … (this machine)", _plain),
    PlanText(
        "environments", "--environment", "environments", "ort127=/…/python", _pairs, repeated=True
    ),
)
FILES = (
    PlanText("accuracy", "--accuracy", "accuracy data", "each model's own", _plain),
    PlanText("inputs", "--inputs", "inputs", "drawn by the seed", _plain),
    PlanText("input_range", "--input-range", "input ranges", "ids=0:999", _ranges, repeated=True),
    PlanText("weights", "--weights", "weights", "drawn by the seed", _plain),
    PlanText("calibration", "--calibration", "calibration", "drawn by the seed", _plain),
    PlanText("states", "--state", "states", "h_out=h_in", _pairs, repeated=True),
    PlanText("from_nodes", "--from-node", "first nodes", "the whole graph", _joined),
    PlanText("to_nodes", "--to-node", "last nodes", "the whole graph", _joined),
    PlanText("custom_ops", "--custom-ops", "custom operators", "none", _joined),
)


class PlanTextField(QLineEdit):
    """One key as text; `edited` carries its value, `fault` says why there is none."""

    edited = Signal(object)

    def __init__(self, row: PlanText) -> None:
        super().__init__(placeholderText=row.example)
        self.setAccessibleName(f"{row.term} of the sweep")
        self.setClearButtonEnabled(True)
        self.row = row
        self.fault: GraphlapError | None = None
        self.textEdited.connect(self._read)

    def show_value(self, value: Any) -> None:
        """Show a value of the plan; nothing is emitted."""
        if self.fault or self._value(self.text()) != _as_typed(value):
            usual = self.row.value("")
            self.setText("" if value == usual else self.row.text(value))
        self._set_fault(None)

    def _value(self, text: str) -> Any:
        try:
            return _as_typed(self.row.value(text))
        except GraphlapError:
            return None

    def _read(self, text: str) -> None:
        try:
            value = self.row.value(text)
        except GraphlapError as error:
            flag, term = f"{self.row.flag} ", f"{self.row.term} "
            cause, remedy = error.cause.replace(flag, term), error.remedy.replace(flag, "")
            self._set_fault(GraphlapError(cause, remedy))
            self.edited.emit(None)
            return
        self._set_fault(None)
        self.edited.emit(_as_typed(value))

    def _set_fault(self, fault: GraphlapError | None) -> None:
        self.fault = fault
        self.setProperty("invalid", fault is not None)
        self.style().polish(self)


def _as_typed(value: Any) -> Any:
    """Lists as the plan keeps them, so that a draft that is typed equals one that is read."""
    return tuple(value) if isinstance(value, list) else value
