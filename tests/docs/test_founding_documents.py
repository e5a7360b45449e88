"""The page of the founding documents is generated, complete, and its commands exist."""

from __future__ import annotations

import shlex
from importlib.util import find_spec
from itertools import pairwise

import pytest

from app.commands.parsers import parse
from app.commands.table import BY_NAME
from app.studies.study import STUDIES, WHOLES
from tests.checkout import ROOT
from tests.documents.facts import Statement, catalogue, operators, rows_of, statements
from tests.documents.page import PAGE, page
from tests.runtimes.fpga.published import always_ahead_errors, predict, read_rows

RESULTS = {"equal", "differs", "inferred", "not reproduced"}


def test_the_page_is_what_its_command_writes() -> None:
    text = PAGE.read_text("utf-8")
    assert text == page(text), "python -m tests.documents writes it anew"


def test_every_table_of_the_documents_is_transcribed() -> None:
    """Counted in the documents: nine latencies of CNNs, eleven of LSTMs and four models without;
    15 rows of four layers, five of four cells and one of two; the zoo; seven steps."""
    rows = read_rows()
    assert (sum(row.fits for row in rows), sum(not row.fits for row in rows)) == (20, 4)
    parts = [row["part"] for row in rows_of("neurio_blocks.csv")]
    assert (parts.count("layers"), parts.count("cells")) == (15 * 4, 5 * 4 + 2)
    assert len(rows_of("gluon_zoo.csv")) == 34
    assert len(rows_of("char_cnn_history.csv")) == 7
    assert len(operators()) == 23
    assert len({statement.document for statement in statements()}) == 5


def test_published_means_are_within_five_per_cent_and_tails_within_eight() -> None:
    predictions = [predict(row) for row in read_rows() if row.fits]
    assert max(abs(prediction.mean_error) for prediction in predictions) < 5
    assert max(abs(prediction.p99_error) for prediction in predictions) < 8


def test_what_is_said_of_cards_that_always_work_ahead_is_what_the_model_gives() -> None:
    predictions = [predict(row) for row in read_rows() if row.fits]
    errors = zip(predictions, always_ahead_errors(predictions), strict=True)
    sizes = [
        abs(error)
        for prediction, error in errors
        if prediction.row.family == "lstm" and prediction.row.card != "V80"
    ]
    assert len(sizes) == 6
    (reason,) = (entry.reason for entry in statements() if "working ahead" in entry.reason)
    figures = f"{sum(sizes) / len(sizes):.1f} % off on average, {max(sizes):.1f} % at worst"
    assert figures in reason


def test_the_printed_structure_is_the_networks_own() -> None:
    """Each operator takes what the one before it gives, and all together are the catalogue's."""
    every = operators()
    assert all(layer.output == next_layer.input for layer, next_layer in pairwise(every))
    row = catalogue()["char_cnn"]
    assert sum(entry.parameters for entry in every) == int(row["parameters"])
    assert sum(entry.macs for entry in every) == int(row["macs"])


def test_the_zoo_has_the_published_parameters() -> None:
    for row in rows_of("gluon_zoo.csv"):
        parameters = catalogue()[row["model"]]["parameters_with_buffers"]
        assert parameters == row["parameters_with_running_stats"], row["model"]


def test_every_configuration_of_a_block_has_a_model() -> None:
    models = [row["model"] for row in rows_of("neurio_blocks.csv")]
    assert len(set(models)) == len(models)
    assert set(models) <= set(catalogue())


@pytest.mark.parametrize("one", statements(), ids=lambda one: one.statement[:40])
def test_every_statement_is_answered_by_a_command_or_a_file(one: Statement) -> None:
    assert one.result in RESULTS
    assert one.result == "equal" or one.reason, "what is not equal has a reason"
    if one.result == "not reproduced":
        assert one.answer == ""
        return
    words = shlex.split(one.answer)
    if words[0] == "graphlap":
        options = parse(BY_NAME[words[1]], words[2:])
        assert words[1] != "study" or options.study in {*STUDIES, *WHOLES}
    elif words[:2] == ["python", "-m"]:
        assert find_spec(words[2]) is not None
    else:
        assert (ROOT / one.answer).exists()
