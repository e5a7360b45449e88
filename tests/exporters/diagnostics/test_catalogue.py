"""The catalogue is complete: each code has a title, a message, a condition and an example."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import pytest

from exporters.diagnostics import catalogue
from exporters.diagnostics import catalogue as rendering
from exporters.diagnostics.catalogue import CATALOGUE, diagnostic
from exporters.diagnostics.diagnostic import MESSAGE, SEVERITIES, Diagnostic, Entry


def example(code: str, entry: Entry) -> Diagnostic:
    return diagnostic(code, entry.example_subject, **entry.example)


@pytest.mark.parametrize(("code", "entry"), CATALOGUE.items())
def test_entries_are_complete(code: str, entry: Entry) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", code)
    assert entry.severity in SEVERITIES
    assert entry.title
    assert not re.search(r"[.{}]$", entry.title)
    assert entry.condition.endswith(".")
    fields = {name for part in (entry.message, entry.action) for name in _fields(part)}
    assert fields - {"subject"} == entry.units.keys(), "every parameter is shown"
    assert ("subject" in fields) == bool(entry.example_subject)
    assert not _fields(entry.title)


@pytest.mark.parametrize(("code", "entry"), CATALOGUE.items())
def test_examples_are_rendered_whole(code: str, entry: Entry) -> None:
    finding = example(code, entry)
    text = rendering.text(finding)
    assert "{" not in text
    assert text.isprintable()
    assert rendering.message(finding).endswith((".", "…"))
    assert (rendering.action(finding) == "") == (entry.action == "")
    assert rendering.message(finding, finding) == rendering.message(finding), "a range of one value"


def test_parameters_are_checked_where_a_diagnostic_is_raised() -> None:
    with pytest.raises(KeyError):
        diagnostic("no_such_code")
    with pytest.raises(ValueError, match="spread"):
        diagnostic("rounds_differ")
    with pytest.raises(ValueError, match="other"):
        diagnostic("rounds_differ", spread=0.1, other=1)
    with pytest.raises(ValueError, match="spread"):
        diagnostic("rounds_differ", spread="a lot")


QUOTATIONS = {
    ("precision_unreadable", "error"): "the engine",
    ("phase_failed_too", "error"): "the engine",
    ("checker_rejects_graph", "objection"): "ONNX's checker",
    ("sizes_fixed", "error"): "torch's exporter",
    ("old_exporter", "error"): "torch's exporter",
    ("memory_not_bound", "error"): "the operating system",
    ("memory_not_locked", "error"): "the operating system",
    ("realtime_refused", "error"): "the operating system",
    ("samples_unreadable", "error"): "the operating system",
    ("neighbour_failed", "error"): "the engine",
    ("no_reference", "error"): "ONNX Runtime",
}
"""Parameters that quote another program, and which."""
SENTENCES = {
    ("host_lost", "error"),
    ("row_unreadable", "error"),
    ("accuracy_unavailable", "error"),
    ("data_beside_unused", "reason"),
}
"""Parameters that still hold sentences of our own; none may be added."""


def test_only_declared_parameters_hold_text() -> None:
    texts = {
        (code, name)
        for code, entry in CATALOGUE.items()
        for name, unit in entry.units.items()
        if unit is MESSAGE
    }
    assert texts == QUOTATIONS.keys() | SENTENCES


def _fields(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


def test_every_code_is_raised_somewhere() -> None:
    root = Path(catalogue.__file__).parents[2]
    files = [
        path
        for room in ("app", "exporters", "runtimes")
        for path in (root / room).rglob("*.py")
        if not path.name.endswith("_entries.py")
    ]
    text = "\n".join(path.read_text("utf-8") for path in files)
    assert not [code for code in CATALOGUE if f'"{code}"' not in text]
