"""A search for a rate on the real clock, beside the rate that the formula gives for it."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.app.sweep.sweeps import write_add_graph
from tests.checkout import ROOT

UTILISATION = 0.768
"""Where half of the requests of M/D/1 wait longer than one service: (1 - rho) e^rho = 1/2."""
SERVICE_MS = 20.0
ANSWER = re.compile(r"fake holds ([\d.,]+)/s at p50 <= 40.0 ms \(limit: [\d.,]+/s to ([\d.,]+)/s\)")


def main() -> None:
    """What was found of services of 20 ms, and of what the formula gives by the time they took."""
    with TemporaryDirectory() as folder:
        write_add_graph(Path(folder) / "add.onnx")
        script = ["--option", f"fake.latency_us={1000 * SERVICE_MS}", "--option", "fake.wait=sleep"]
        search = ["--slo", "p50=40ms", "--idle-policy", "sleep", "--rounds", "4", "--out", "run"]
        sweep = ["--headless", "--models", "add.onnx", "--runtimes", "fake"]
        process = subprocess.run(
            [sys.executable, "-m", "app", *sweep, *script, *search],
            cwd=folder,
            env={"PYTHONPATH": str(ROOT), "COLUMNS": "400"},
            capture_output=True,
            text=True,
            check=True,
        )
        answer = ANSWER.search(process.stdout)
        assert answer is not None, process.stdout
        with (Path(folder) / "run" / "results.full.csv").open(encoding="utf-8", newline="") as file:
            unloaded_row = next(csv.DictReader(file))
    service_ms = float(unloaded_row["latency_p50_us"]) / 1e3
    low, high = answer.groups()
    sys.stdout.write(
        f"promised {low}/s (limit: to {high}), M/D/1 with services of {service_ms:.2f} ms holds "
        f"{1e3 * UTILISATION / service_ms:.1f}/s\n"
    )
