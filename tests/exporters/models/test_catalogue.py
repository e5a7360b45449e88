"""Names lead to definitions without importing torch, and a typo to the nearest name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from exporters.models import catalogue
from exporters.types import GraphlapError


def test_the_suites_of_the_models_hold_both_forms() -> None:
    suites = catalogue.by_suite()
    assert [d.name for d in suites["vollo-cnn"]] == [
        "cnn_tiny",
        "cnn_tiny_seq",
        "cnn_small",
        "cnn_small_seq",
        "cnn_med",
        "cnn_med_seq",
    ]
    assert len(suites["vollo-lstm"]) == 10
    assert [d.name for d in (*suites["mlp"], *suites["char-cnn"])] == ["mlp", "char_cnn"]


def test_every_alias_leads_to_its_definition() -> None:
    definitions = [d for suite in catalogue.by_suite().values() for d in suite]
    assert len(definitions) == len(catalogue.names())
    for definition in definitions:
        for alias in definition.aliases:
            assert catalogue.find(alias) is definition


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(GraphlapError, match=r"'lstm_tinny'.*did you mean 'lstm_tiny'"):
        catalogue.find("lstm_tinny")


def test_a_name_near_to_none_points_at_the_list() -> None:
    with pytest.raises(GraphlapError, match="graphlap models"):
        catalogue.find("????????")


def test_listing_imports_no_engine() -> None:
    code = (
        "import sys; from exporters.models import catalogue; catalogue.by_suite();"
        "print([m for m in ('torch', 'onnx', 'onnxruntime') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
