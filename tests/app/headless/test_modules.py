"""A user's module through a whole run: its own sizes in the rows, and what its export was like."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.headless.batch import rows, run
from tests.exporters.pytorch import networks

FILE = str(Path(networks.__file__))


@pytest.mark.rare
def test_each_size_of_a_module_with_baked_in_sizes_is_measured_on_its_own_graph(
    work: Path,
) -> None:
    code, _, stderr = run(
        *("--headless", "--models", f"{FILE}:other_at_two", "--batch", "2,3", "--rounds", "1"),
        *("--runtimes", "ort-cpu,torch-cpu", "--op-times", "--out", "run"),
    )
    assert code == 0, stderr
    table = rows(work / "run")
    assert {row["status"] for row in table} == {"ok"}
    assert all("sizes_fixed" in row["warning_codes"] for row in table)
    by_batch = {row["batch_size"]: row["model_sha256"] for row in table}
    assert by_batch.keys() == {"2", "3"}
    assert by_batch["2"] != by_batch["3"]
    assert len(list((work / "run" / "operators").iterdir())) == 4


def test_a_row_tells_the_sizes_that_nobody_asked_for(work: Path) -> None:
    code, out, _ = run(
        *("--headless", "--models", f"{FILE}:keywords", "--axis", "sequence=7"),
        *("--runtimes", "ort-cpu", "--rounds", "1", "--out", "run"),
    )
    assert code == 0, out
    (row,) = rows(work / "run")
    assert (row["axes"], row["batch_size"]) == ("batch=1;sequence=7", "1")
    assert row["inputs_drawn"] == "input_ids as in the example, keep as in the example"


def test_an_axis_that_no_input_has_is_a_row_with_one_sentence(work: Path) -> None:
    code, *_ = run(
        *("--headless", "--models", f"{FILE}:keywords", "--axis", "heigth=7"),
        *("--runtimes", "ort-cpu", "--rounds", "1", "--out", "run"),
    )
    assert code == 1
    (row,) = rows(work / "run")
    assert row["reason"] == (
        "networks:keywords has no axis 'heigth': its axes are: batch, sequence"
    )
