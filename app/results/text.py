"""Numbers and cases as text for people: the one place where units and digits are chosen."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from app.cases.case import Case, Scenario
from app.machine.available import runtime
from exporters.types import axes_key
from runtimes.registry import RUNTIMES, parse_spec

NOT_MEASURED = "-"
_FAR_APART = 100
_UNITS = ((1e6, "s"), (1e3, "ms"), (1.0, "us"), (1e-3, "ns"))


def latency(microseconds: float | None) -> str:
    """`24.1 us`, `1.23 ms`: three significant digits in the unit that suits."""
    if microseconds is None:
        return NOT_MEASURED
    scale, unit = _unit_for(microseconds)
    return f"{_digits(microseconds / scale)} {unit}"


def interval(low_us: float | None, high_us: float | None) -> str:
    """`24.05 to 24.31 us`: in one unit where that can be, a digit more than a latency alone."""
    if low_us is None or high_us is None:
        return NOT_MEASURED
    if low_us * _FAR_APART < high_us:
        return f"{latency(low_us)} to {latency(high_us)}"
    scale, unit = _unit_for(high_us)
    return f"{_digits(low_us / scale, 4)} to {_digits(high_us / scale, 4)} {unit}"


def count(number: int | None) -> str:
    """`11,908,100`."""
    return NOT_MEASURED if number is None else f"{number:,}"


def rate(per_second: float | None) -> str:
    """`727 /s`."""
    return NOT_MEASURED if per_second is None else f"{_digits(per_second)} /s"


def duration(seconds: float | None) -> str:
    """`45 s`, `3 min 20 s`, `2 h 05 min`."""
    if seconds is None:
        return NOT_MEASURED
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def case_label(case: Case) -> str:
    """One line that tells this case from its neighbours."""
    parts = [Path(case.model).name, case.runtime]
    if case.precision != "fp32":
        parts.append(case.precision)
    if case.axes:
        parts.append(axes_key(case.axes))
    if case.threads != 1:
        parts.append(f"threads={case.threads or 'auto'}")
    parts += [f"{name}={value}" for name, value in sorted(case.options.items())]
    if case.scenario != Scenario():
        parts.append(str(case.scenario))
    return " ".join(parts)


def unusual_options(spec: str, options: str) -> str:
    """Of a row's `options`, those that are not the runtime's defaults."""
    name = parse_spec(spec).name
    known = runtime(name).options if name in RUNTIMES else ()
    usual = {f"{option.name}={option.default}" for option in known}
    return " ".join(pair for pair in options.split(" ") if pair not in usual)


def model_labels(models: Iterable[str]) -> dict[str, str]:
    """Each model's shortest name that no other has: of a path, as few last parts as needed."""
    distinct = list(dict.fromkeys(models))
    labels = {}
    for model in distinct:
        parts = Path(model).parts
        tails = (str(Path(*parts[-count:])) for count in range(1, len(parts) + 1))
        labels[model] = next(
            (t for t in tails if sum(_ends_with(other, t) for other in distinct) == 1), model
        )
    return labels


def _ends_with(model: str, tail: str) -> bool:
    wanted = Path(tail).parts
    return Path(model).parts[-len(wanted) :] == wanted


def _unit_for(microseconds: float) -> tuple[float, str]:
    return next((pair for pair in _UNITS if abs(microseconds) >= pair[0]), _UNITS[-1])


def _digits(value: float, significant: int = 3) -> str:
    """Plain digits, never an exponent: 0.0123, 1.23, 12.3, 123, 1234."""
    if value == 0:
        return "0"
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    return f"{value:.{max(0, significant - max(whole, 1))}f}"
