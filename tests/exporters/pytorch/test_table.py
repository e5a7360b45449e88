"""The committed table tells the truth about the catalogue: every name, every size."""

from __future__ import annotations

import csv
from importlib.resources import files

import pytest

from exporters.models.catalogue import names
from exporters.pytorch.table import table

COMMITTED = files("assets").joinpath("catalogue.csv").read_text("utf-8")


@pytest.mark.rare
def test_the_table_is_what_the_definitions_give_now() -> None:
    """If this fails, `python -m exporters.pytorch.table` and commit what it writes."""
    assert table() == COMMITTED


def test_every_model_has_its_line_and_its_sizes() -> None:
    rows = list(csv.DictReader(COMMITTED.splitlines()))
    assert [row["name"] for row in rows] == list(names())
    for row in rows:
        assert int(row["parameters_with_buffers"]) >= int(row["parameters"]) >= 0
        assert row["macs"].isdecimal(), row["name"]


def test_the_zoo_has_the_published_parameters() -> None:
    published_text = files("assets").joinpath("published", "gluon_zoo.csv").read_text("utf-8")
    own_rows = {row["name"]: row for row in csv.DictReader(COMMITTED.splitlines())}
    for row in csv.DictReader(published_text.splitlines()):
        own_count = own_rows[row["model"]]["parameters_with_buffers"]
        assert own_count == row["parameters_with_running_stats"], row["model"]
