"""Sentences are made of codes and parameters, of one case or of several together."""

from __future__ import annotations

import json

import pytest

from exporters.codec import from_json, to_json
from exporters.diagnostics import catalogue
from exporters.diagnostics import catalogue as rendering
from exporters.diagnostics.catalogue import codes, diagnostic, grouped
from exporters.diagnostics.diagnostic import (
    MICROSECONDS,
    QUOTED,
    SHARE,
    Choice,
    Count,
    Diagnostic,
    Entry,
)


@pytest.fixture(autouse=True)
def _own_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = Entry(
        title="Own",
        message="{subject}: {rounds} of {nodes} took {p50_us}, {share}, and {how}.",
        condition="Never.",
        action="Look at {nodes}.",
        parameters={
            "rounds": (Count("round"), 1),
            "p50_us": (MICROSECONDS, 2.0),
            "share": (SHARE, 0.5),
            "nodes": (QUOTED, "n"),
            "how": (Choice({"up": "rose", "down": "fell"}), "up"),
        },
    )
    monkeypatch.setitem(catalogue.CATALOGUE, "own", entry)


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


def test_diagnostics_cross_pipes_and_journals() -> None:
    finding = own("a", 2, 12.5, 0.05, "up", "x")
    back = from_json(Diagnostic, json.loads(json.dumps(to_json(finding))))
    assert rendering.text(back) == rendering.text(finding)
    assert (back.code, back.severity, back.subject) == ("own", "warning", "a")


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
