"""The first lines of an answer: what was measured, whether outputs were right, how far to trust
the figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from app.cases.column import Row, number_of
from app.console.answer.ended import EndedRun
from app.console.checks import summary
from app.results import text
from app.results.hosts import environments
from app.stats.between import LEAST_ROUNDS

_CLOCKS = ("wall", "device")
_FACTOR = 2.0
"""An interval that reaches further than this factor is given as one, and not in percent."""


def measured_line(ended: EndedRun) -> str:
    """`starter: 80 of 80 cases measured, all outputs right`."""
    rows = [one.row for one in ended.own]
    if ended.plan.check:
        return f"{ended.plan.name}: {summary(rows)}"
    if ended.is_imported:
        return f"{ended.plan.name}: {_cases(len(rows))} from other programs' files, never ranked"
    timed = sum(_is_timed(row) for row in rows)
    parts = [
        f"{timed:,} of {_cases(len(rows))} measured",
        *_outputs(rows, ended.plan.checked),
        *_not_timed(rows),
    ]
    return f"{ended.plan.name}: {', '.join(parts)}"


def trust_line(ended: EndedRun) -> str:
    """The machine, and how far the medians and the tails reach that it gave."""
    rows = [one.row for one in ended.own if one.row["clock"] in _CLOCKS and _is_timed(one.row)]
    if not rows:
        simulated = any(one.row["clock"] == "simulated" for one in ended.own)
        return "simulated: no figure depends on this machine" if simulated else ""
    hosts = environments(ended.run.manifest, ended.run.environments, rows)
    return f"{_machines(hosts)}: {', '.join(_reach(rows))}"


def _cases(number: int) -> str:
    return f"{number:,} case{'s' * (number != 1)}"


def _is_timed(row: Row) -> bool:
    return bool(row["iterations"]) or row["latency_p50_us"] is not None


def _outputs(rows: Sequence[Row], checked: bool) -> list[str]:
    """What the check of outputs came to."""
    if not checked:
        return ["outputs not checked (--no-verify-outputs)"]
    right = sum(row["output_ok"] is True for row in rows)
    wrong = sum(row["output_ok"] is False or row["status"] == "wrong_output" for row in rows)
    timed = sum(_is_timed(row) for row in rows)
    if right and right == timed and not wrong:
        return ["all outputs right"]
    parts = [f"{wrong:,} with wrong outputs"] if wrong else []
    unchecked = timed - right - sum(row["output_ok"] is False for row in rows)
    if timed and unchecked > 0:
        parts.append("outputs not checked" if unchecked == timed else f"{unchecked:,} not checked")
    return parts


def _not_timed(rows: Sequence[Row]) -> list[str]:
    """How many cases ended in each way without figures."""
    statuses = Counter(str(row["status"]) for row in rows if not _is_timed(row))
    statuses.pop("wrong_output", None)
    return [f"{n:,} {name.replace('_', ' ')}" for name, n in statuses.items()]


def _machines(hosts: Mapping[str, Mapping[str, Any]]) -> str:
    """One machine by what it is, several by their names."""
    if len(hosts) > 1:
        return f"{len(hosts)} machines ({', '.join(hosts)})"
    host: Mapping[str, Any] = next(iter(hosts.values()), {})
    facts = [str(host.get("cpu") or "this machine")]
    cores, load = host.get("cores_usable"), host.get("load_1min")
    if isinstance(cores, int):
        facts.append(f"{cores} core{'s' * (cores != 1)}")
    if host.get("virtual_machine") is True:
        facts.append("virtual machine")
    if isinstance(load, int | float):
        facts.append(f"load {load:.1f} at the start")
    return ", ".join(facts)


def _reach(rows: Sequence[Row]) -> list[str]:
    """How far the 95 % intervals of the medians and of the p99s reach."""
    rounds = [int(number_of(row["rounds"]) or 0) for row in rows]
    if max(rounds) < LEAST_ROUNDS:
        many = f"{max(rounds)} round{'s' * (max(rounds) != 1)}"
        return [f"with {many} the variation between processes is unknown"]
    return [part for name in ("p50", "p99") if (part := _reach_of(rows, name))]


def _reach_of(rows: Sequence[Row], name: str) -> str:
    known = [row for row in rows if row.get(f"latency_{name}_us") is not None]
    factors = sorted(factor for row in known if (factor := _factor(row, name)) is not None)
    if not factors:
        return f"{name} without interval" if known else f"no {name}: too few runs"
    typical, worst = median(factors), factors[-1]
    told = f"{name} within {_reach_text(typical)}"
    if _reach_text(worst) != _reach_text(typical):
        told += f" (worst: {_reach_text(worst)})"
    lacking = len(rows) - len(factors)
    return f"{told}, unknown in {lacking:,} of {len(rows):,}" if lacking else told


def _factor(row: Row, name: str) -> float | None:
    """By which factor the interval reaches beyond the figure, at the farther end."""
    value = number_of(row.get(f"latency_{name}_us"))
    low = number_of(row.get(f"latency_{name}_ci_low_us"))
    high = number_of(row.get(f"latency_{name}_ci_high_us"))
    if not value or not low or not high:
        return None
    return max(value / low, high / value)


def _reach_text(factor: float) -> str:
    if factor > _FACTOR:
        return f"a factor of {text.significant(factor, 2)}"
    return f"±{text.significant(100 * (factor - 1), 2 if factor >= 1.1 else 1)}%"
