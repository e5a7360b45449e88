"""The character-level CNN on each GPU runtime: correct, in fp32, and faster by the batch."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.gpu.conftest import GPU_RUNTIMES, available

BATCHES = (1, 8, 32)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", GPU_RUNTIMES)
def test_char_cnn_throughput(name: str, tmp_path: Path) -> None:
    available(name)
    arguments = ["--headless", "--models", "char_cnn", "--runtimes", name, "--preset", "quick"]
    batches = ["--batch", ",".join(map(str, BATCHES)), "--out", str(tmp_path / "run")]
    process = subprocess.run(
        [sys.executable, "-m", "app", *arguments, *batches],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    with (tmp_path / "run" / "results.full.csv").open(encoding="utf-8", newline="") as file:
        rows = {int(row["batch_size"]): row for row in csv.DictReader(file)}
    assert set(rows) == set(BATCHES)
    for batch, row in rows.items():
        assert row["status"] == "ok", row["reason"]
        assert row["output_ok"] == "true"
        assert row["precision"] == "fp32"
        print(f"{row['device_name']} {name} batch {batch}: {row['throughput_per_s']} inputs/s")
    assert float(rows[32]["throughput_per_s"]) > float(rows[1]["throughput_per_s"])
