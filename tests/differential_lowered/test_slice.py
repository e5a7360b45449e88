"""A few fixed draws of every kind; `python -m tests.differential_lowered` makes fresh ones."""

from __future__ import annotations

from collections.abc import Iterator

import onnxruntime
import pytest

from tests.differential_lowered.card import Outcome
from tests.differential_lowered.kinds import KINDS, drawn
from tests.differential_lowered.known import KNOWN, reason_for
from tests.differential_lowered.results import Results

_WARNINGS = 2
"""What ONNX Runtime logs by default."""


@pytest.fixture(autouse=True)
def logging_restored() -> Iterator[None]:
    """Draws silence ONNX Runtime, whose words other tests of this process read."""
    yield
    onnxruntime.set_default_logger_severity(_WARNINGS)


GROUPS = {
    "card": 3,
    "fp16": 4,
    "bf16": 4,
    "int8": 3,
    "fp8": 3,
}
"""How many draws of each kind a run of the suite makes."""


@pytest.mark.parametrize("group", GROUPS)
def test_what_is_lowered_computes_what_the_graph_says(group: str) -> None:
    results = Results()
    for name in KINDS:
        if name.startswith(f"{group} "):
            for _, seed, outcome in drawn(name, 7, GROUPS[group]):
                results.add(name, seed, outcome)
    assert [*results.faults()] == []
    total = [*results.table()][-1]
    assert int(total.split()[1]) > GROUPS[group], "draws must be comparable"


DISAGREED = (
    ("fp8 images", 78000047),
    ("fp8 flat", 78000100),
    ("fp8 attention", 78000155),
    ("card ReduceProd", 78000019),
    ("card ReduceMax", 78000055),
    ("card ReduceMin", 178000040),
    ("card LpPool", 178000071),
)
"""Draws that disagreed once."""


def test_what_disagreed_once_agrees_or_is_known() -> None:
    results = Results()
    for name, draw in DISAGREED:
        for _, seed, outcome in drawn(name, draw, 1):
            results.add(name, seed, outcome)
    assert [*results.faults()] == []


def test_a_disagreement_is_reported_with_the_command_that_repeats_it() -> None:
    results = Results()
    results.add("card Conv", 12, Outcome("disagrees", "1.0 instead of 2.0 at [0]"))
    results.add("card Conv", 13, Outcome("agrees"))
    (fault,) = results.faults()
    assert "--only 'card Conv' --draw 12" in fault
    assert [*results.table()][1].split() == ["card", "Conv", "2", "0", "0", "0", "1"]


def test_no_known_disagreement_excuses_a_whole_operator() -> None:
    assert not any(reason_for(name, "5.0 instead of 2.0 at [0, 1]") for name in KINDS)
    assert all(rule.reason and rule.source for rule in KNOWN)
