"""How well the model meets the published tables: what a user bets on when no card is there."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from exporters.models.definitions import DEFINITIONS
from runtimes import fpga
from runtimes.errors import Unsupported
from runtimes.fpga.card.timing import fidelity
from runtimes.fpga.cards import card_keys, load_card
from tests.checkout import ROOT
from tests.runtimes.fpga import predictions
from tests.runtimes.fpga.published import (
    Predicted,
    Row,
    fit,
    fits_table,
    jitter_us,
    left_out_errors,
    predict,
    read_rows,
    table,
)

ROWS = read_rows()
FOLDER = Path(fpga.__file__).parent


def label(row: Row) -> str:
    return f"{row.model}-{row.card}"


@pytest.fixture(scope="module")
def predicted() -> list[Predicted]:
    return [predict(row) for row in ROWS if row.fits]


def test_means_are_within_six_and_on_average_three_per_cent(predicted: list[Predicted]) -> None:
    errors = [abs(p.mean_error) for p in predicted]
    assert len(errors) == 20
    assert np.mean(errors) <= 3
    assert max(errors) <= 6


def test_p99_is_within_ten_and_on_average_three_per_cent(predicted: list[Predicted]) -> None:
    errors = [abs(p.p99_error) for p in predicted]
    assert np.mean(errors) <= 3
    assert max(errors) <= 10


@pytest.mark.parametrize("row", ROWS, ids=label)
def test_the_capacity_rule_decides_what_fits(row: Row) -> None:
    if row.fits:
        assert fidelity(row.compile()).word == "calibrated"
    else:
        with pytest.raises(Unsupported, match=r"needs \d+ tiles, the card has \d+"):
            row.compile()


def test_constants_in_the_card_files_are_the_fit_of_the_tables(
    predicted: list[Predicted],
) -> None:
    v80, big, small = (load_card(key) for key in ("v80", "ia-840f", "ia-420f"))
    releases = [card.release(name) for card in (big, small) for name in ("sdk21", "sdk26")]
    io_constants = [v80.release("sdk25").io_us, v80.release("sdk26").io_us]
    assert len({(r.io_us, r.dma_us) for r in releases}) == 1
    assert fit(predicted) == pytest.approx(
        [*io_constants, releases[0].io_us, releases[0].dma_us], abs=5.1e-4
    )
    for card in (v80, big, small):
        assert card.jitter_us == pytest.approx(jitter_us(predicted), abs=2e-4)


def test_at_most_six_numbers_are_fitted() -> None:
    """Every fitted line of the card files says so; equal lines are one number."""
    fitted_names = set()
    for path in sorted((FOLDER / "cards").glob("*.toml")):
        for line in path.read_text("utf-8").splitlines():
            if "# fitted" in line:
                fitted_names.add(line.strip())
    assert 0 < len(fitted_names) <= 6


def test_left_out_rows_are_predicted_nearly_as_well(predicted: list[Predicted]) -> None:
    errors = np.abs(left_out_errors(predicted))
    assert errors.mean() <= 4
    assert errors.max() <= 10


def test_the_readme_shows_these_very_figures(predicted: list[Predicted]) -> None:
    page = (ROOT / "runtimes/fpga/README.md").read_text("utf-8")
    assert table(predicted) in page
    assert fits_table(predicted) in page


def test_no_model_is_named_in_code_or_cards() -> None:
    names = {row.model for row in ROWS} | {definition.name for definition in DEFINITIONS}
    pattern = re.compile(rf"\b({'|'.join(sorted(names))})\b", re.IGNORECASE)
    for path in (*FOLDER.rglob("*.py"), *FOLDER.rglob("*.toml"), *FOLDER.rglob("*.c")):
        match = pattern.search(path.read_text("utf-8"))
        assert match is None, f"{path.name} names {match and match[0]}"


def test_the_cards_are_those_of_the_tables() -> None:
    assert {row.card.lower() for row in ROWS} == set(card_keys())


def test_the_predictions_are_those_of_the_model() -> None:
    """Of the networks that need no torch; those of the others are made by the same command."""
    written_rows = [
        tuple(row.values())
        for row in csv.DictReader(predictions.FILE.read_text("utf-8").splitlines())
    ]
    for network in (*predictions.table_networks(), *predictions.batches()):
        predicted_rows = list(predictions.rows([network]))
        assert [
            row for row in written_rows if row[:2] == (network[0], str(network[1]))
        ] == predicted_rows
