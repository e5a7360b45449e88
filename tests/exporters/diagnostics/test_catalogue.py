"""The catalogue of diagnostics is complete, and sentences are made of codes and parameters."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import pytest

from exporters import diagnostics as catalogue
from exporters import diagnostics as rendering
from exporters.diagnostics import (
    SEVERITIES,
    UNITS,
    Choice,
    Count,
    Diagnostic,
    Entry,
    codes,
    diagnostic,
    entries,
    grouped,
)


@pytest.mark.parametrize(("code", "entry"), entries().items())
def test_entries_are_complete_and_their_examples_rendered_whole(code: str, entry: Entry) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", code)
    assert entry.severity in SEVERITIES
    assert entry.title
    assert not re.search(r"[.{}]$", entry.title)
    assert entry.condition.endswith(".")
    fields = {name for part in (entry.message, entry.action) for name in _fields(part)}
    assert fields - {"subject"} == entry.units.keys(), "every parameter is shown"
    assert ("subject" in fields) == bool(entry.example_subject)
    assert not _fields(entry.title)
    finding = diagnostic(code, entry.example_subject, **entry.example)
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
    assert not [code for code in entries() if f'"{code}"' not in text]


@pytest.fixture(autouse=True)
def _own_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = Entry(
        title="Own",
        message="{subject}: {rounds} of {nodes} took {p50_us}, {share}, and {how}.",
        condition="Never.",
        action="Look at {nodes}.",
        parameters={
            "rounds": (Count("round"), 1),
            "p50_us": (UNITS["microseconds"], 2.0),
            "share": (UNITS["share"], 0.5),
            "nodes": (UNITS["quoted"], "n"),
            "how": (Choice({"up": "rose", "down": "fell"}), "up"),
        },
    )
    monkeypatch.setitem(catalogue.entries(), "own", entry)


def own(
    subject: str, rounds: int, p50_us: float, share: float, how: str, *nodes: str
) -> Diagnostic:
    return diagnostic(
        "own", subject, rounds=rounds, p50_us=p50_us, share=share, how=how, nodes=nodes
    )


def test_figures_have_units_and_few_digits() -> None:
    finding = own("a", 1, 12.3456, 0.0512, "up", "x; y: z", "w")
    assert (
        rendering.message(finding)
        == "a: 1 round of 'x; y: z' and 'w' took 12.3 µs, 5.12 %, and rose."
    )
    assert rendering.action(finding) == "Look at 'x; y: z' and 'w'."
    assert rendering.text(finding) == f"{rendering.message(finding)} {rendering.action(finding)}"


@pytest.mark.parametrize(
    "parameters", [{}, {"rounds": "two"}, {"rounds": 1, "p50_us": (), "share": 1, "nodes": 1}]
)
def test_parameters_of_another_version_are_shown_as_they_are(parameters: dict[str, object]) -> None:
    finding = Diagnostic("own", "warning", "a", parameters)  # type: ignore[arg-type]
    text = rendering.text(finding)
    assert text.startswith("Own (a")
    assert all(name in text for name in parameters)


def test_an_unknown_code_is_shown_with_its_parameters() -> None:
    finding = Diagnostic("clock_slew", "error", "", {"ticks": 4, "names": ("a", "b")})
    assert rendering.text(finding) == "Clock slew (ticks = 4, names = a and b)."


def test_groups_are_by_code_and_name_each_case_once() -> None:
    first, second = own("a", 1, 1.0, 0.5, "up"), diagnostic("rounds_differ", spread=0.1)
    more = own("b", 2, 1.0, 0.5, "up")
    groups = grouped([("1", [first, second, more]), ("2", [second]), ("3", [])])
    assert [(group.code, group.case_ids) for group in groups] == [
        ("own", ("1",)),
        ("rounds_differ", ("1", "2")),
    ]
    assert groups[0].diagnostics == (first, more)
    assert codes([first, second, more]) == ("own", "rounds_differ")
