"""The VOLLO study: what was published, simulated and measured stands side by side, and apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.analysis.comparison.published_figures import card_rows
from app.cases.case import Case
from app.cases.status import Status
from app.plan.expand import expand
from app.plan.studies import load_study
from app.present.studies.page import page
from app.present.studies.study import found_in, study
from app.present.terminal import as_markdown
from tests.app.present.studies.made import make_run, tables


def latency_us(case: Case) -> float | Status | None:
    """The cards take 3 µs for everything that fits, ort-cpu 40, and torch-cpu comes to nothing."""
    row = next((r for r in card_rows() if (r.model, r.runtime) == (case.model, case.runtime)), None)
    if row is not None:
        return 3.0 if row.fits else "unsupported"
    return 40.0 if case.runtime == "ort-cpu" else None


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("vollo") / "run"
    make_run(folder, "vollo", ["ort-cpu", "torch-cpu"], latency_us, rounds=3, budget_s=900.0)
    return as_markdown(page(study("vollo"), found_in(folder, load_study("vollo"))))


def test_the_plan_has_every_row_of_the_tables() -> None:
    pacing = {"spaced": "paced:20us"}
    cases = {(c.model, c.runtime, str(c.scenario)) for c in expand(load_study("vollo"))}
    for row in card_rows():
        assert (row.model, row.runtime, pacing[row.pacing]) in cases
        assert any(model == row.model and "fpga" not in name for model, name, _ in cases)


def test_a_real_clock_has_columns_of_its_own(told: str) -> None:
    for table in tables(told)[:-1]:
        for row in table[1:]:
            for heading, cell in zip(table[0], row, strict=True):
                if heading.endswith(" simulated"):
                    assert cell in ("3.00", "does not fit")
                elif heading.endswith(" measured"):
                    assert cell == ("40.0" if heading.startswith("ort-cpu") else "not run")


def test_the_mean_and_the_worst_error_are_those_of_the_rows(told: str) -> None:
    errors = [abs(3.0 / row.mean_us - 1.0) for row in card_rows() if row.mean_us]
    worst = max(errors)
    sentence = f"{100 * sum(errors) / 20:.1f} % off on average, {100 * worst:.1f} % at worst"
    assert sentence in told.rpartition("## Both tables")[2]
    assert "lstm\\_large on V80), over 20 of 20 published figures" in told


def test_what_was_not_come_to_is_named(told: str) -> None:
    left_out = told.partition("## Not measured")[2].partition("\n## ")[0]
    assert "- no round: torch-cpu all 8" in left_out
    # Of 40 cases 4 ended, 8 lack three rounds and the other 28 two.
    assert "not run in the budget of 15 min 00 s: 80 of 120 rounds" in left_out
    assert "1 of 3 rounds: ort-cpu all 8; fpga:v80\\@sdk26 all 3" in left_out
    # Of these cards two and one LSTMs ended where they do not fit.
    fit = "lstm\\_tiny, lstm\\_small"
    assert f"fpga:ia-840f\\@sdk21, fpga:ia-420f\\@sdk21: {fit}; fpga:ia-840f" in left_out


def test_a_machine_that_had_other_work_is_told(tmp_path: Path) -> None:
    """A load of 1.2 on one core is that of its own rounds."""
    for load, said in ((1.2, "The machine had a load of 1.2 to 1.2 on 1 core"), (9.0, "Loaded: ")):
        path = tmp_path / f"{load}"
        make_run(path, "vollo", ["ort-cpu"], latency_us, load=load)
        results = found_in(path, load_study("vollo"))
        assert f"\n{said}" in as_markdown(page(study("vollo"), results))


def test_what_another_run_of_the_models_lacks_is_named(tmp_path: Path) -> None:
    make_run(tmp_path / "run", "vollo", ["ort-cpu"], latency_us)
    results = found_in(tmp_path / "run", load_study("vollo"))
    remaining = tuple(m for m in results.measured if m.case.runtime != "fpga:v80@sdk26")
    text = as_markdown(page(study("vollo"), replace(results, measured=remaining)))
    assert "- not part of this run: fpga:v80\\@sdk26 cnn\\_tiny, cnn\\_small, cnn\\_med\n" in text
