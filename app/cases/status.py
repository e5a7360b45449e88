"""How a case can end: one table that says all that the rest of the program asks of a status.

A new status is one line of `Status` and one of `STATUSES`; which rounds end a case, which rows
fail a run and how a row is coloured follow from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal[
    "crashed",
    "timeout",
    "out_of_memory",
    "run_failed",
    "wrong_output",
    "compile_failed",
    "export_failed",
    "unsupported",
    "unavailable",
    "partial",
    "cancelled",
    "not_run",
    "compiles",
    "imported",
    "ok",
]
Tone = Literal["ok", "warning", "error"]


@dataclass(frozen=True, slots=True)
class StatusFact:
    """What a status means for its case, its row and its run.

    `failed`: the row fails the run (exit code 1), and with `strict` only under --strict.
    `ends_case`: after a round that ended so the case gets no more. `gives_output`: what ran
    can be asked for accuracy and operator times. `fits`: to a search for the largest batch,
    memory sufficed. `tried_again`: it says nothing of the case, so that a resume tries the round
    again. `incomplete`: it was not measured to an end, and the run is unfinished. `tone` is how a
    row is coloured.
    """

    meaning: str
    failed: bool = False
    strict: bool = False
    ends_case: bool = False
    gives_output: bool = False
    fits: bool = False
    tried_again: bool = False
    incomplete: bool = False
    tone: Tone = "error"


def _failure(meaning: str, gives_output: bool = False) -> StatusFact:
    return StatusFact(meaning, failed=True, ends_case=True, gives_output=gives_output)


STATUSES: dict[Status, StatusFact] = {
    "crashed": _failure("the measuring process died without a word of its own"),
    "timeout": _failure("the round took longer than --time-limit"),
    "out_of_memory": _failure("the host or the device had too little memory"),
    "run_failed": _failure("the engine failed while it ran"),
    "wrong_output": _failure("it ran, and its outputs differ from the reference", True),
    "compile_failed": _failure("the engine refused the graph"),
    "export_failed": _failure("the model could not become a checked graph"),
    "unsupported": StatusFact(
        "the runtime reports that it can't run this case",
        strict=True,
        ends_case=True,
        tone="warning",
    ),
    "unavailable": StatusFact(
        "the runtime or its device is not on this machine",
        strict=True,
        ends_case=True,
        tried_again=True,
        tone="warning",
    ),
    "partial": StatusFact(
        "it runs, and nodes of the graph run elsewhere than on the engine that the row names",
        strict=True,
        gives_output=True,
        fits=True,
        tone="warning",
    ),
    "cancelled": StatusFact(
        "not finished: ended from outside, by a full disk or for want of its host; resume it",
        tried_again=True,
        incomplete=True,
        tone="warning",
    ),
    "not_run": StatusFact(
        "never begun: the run ended before; resume it",
        tried_again=True,
        incomplete=True,
        tone="warning",
    ),
    "compiles": StatusFact(
        "of a check: the engine took the whole graph; nothing was run", tone="ok"
    ),
    "imported": StatusFact(
        "another program measured it, as the row names it: shown, and never ranked", tone="warning"
    ),
    "ok": StatusFact("measured, and right", gives_output=True, fits=True, tone="ok"),
}
"""Worst first: the worst round decides the status of a row."""

WORST_FIRST: tuple[Status, ...] = tuple(STATUSES)


def _statuses_with(fact: str) -> frozenset[Status]:
    return frozenset(name for name, facts in STATUSES.items() if getattr(facts, fact))


FAILED = _statuses_with("failed")
STRICT = _statuses_with("strict")
TERMINAL = _statuses_with("ends_case")
TRIED_AGAIN = _statuses_with("tried_again")
INCOMPLETE = _statuses_with("incomplete")
RAN = _statuses_with("gives_output")
FITS = _statuses_with("fits")
TONES: dict[str, Tone] = {name: facts.tone for name, facts in STATUSES.items()}
WELL: frozenset[str] = frozenset(n for n, facts in STATUSES.items() if facts.tone == "ok")
