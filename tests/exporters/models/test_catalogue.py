"""The catalogue: its table, and networks of the zoo that are exported."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from importlib.resources import files

import pytest

from exporters.models import catalogue
from exporters.types import GraphlapError
from tests.exporters.models.symbolic import assert_batch_is_symbolic_and_right
from tests.exporters.support import WorkerProcess


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


NETWORKS = {
    row["model"]: int(row["parameters_with_running_stats"])
    for row in csv.DictReader(
        files("assets").joinpath("published/gluon_zoo.csv").read_text("utf-8").splitlines()
    )
}


LARGEST = 30_000_000


SIZE = re.compile(r"\d+\.\d+|\d{2,}")
"""What tells a network from its family: of resnet18_v2 the 18."""


def smallest_of_each_family() -> list[str]:
    ascending = sorted(NETWORKS, key=NETWORKS.__getitem__)
    first = {SIZE.sub("", name): name for name in reversed(ascending)}
    return [name for name in ascending if name in first.values() and NETWORKS[name] < LARGEST]


def test_each_family_is_walked() -> None:
    assert {SIZE.sub("", name) for name in NETWORKS} == {
        "alexnet", "densenet", "inceptionv3", "mobilenet", "mobilenetv2_", "resnet_v1",
        "resnet_v2", "squeezenet", "vgg", "vgg_bn",
    }  # fmt: skip


DEEP = ("densenet", "inception", "mobilenetv2", "resnet18_v1", "resnet18_v2")
"""Families that take longest, up to half a minute each; the others stand for them."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.rare] if name.startswith(DEEP) else [])
        for name in smallest_of_each_family()
    ],
)
def test_the_network_exports_with_a_symbolic_batch(worker: WorkerProcess, name: str) -> None:
    assert_batch_is_symbolic_and_right(worker, name, batches=(2,))
