"""The share of a standard sweep's wall time that is spent warming up and measuring."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

MODELS = "cnn_tiny,lstm_small,mlp"
COMMAND = [sys.executable, "-m", "app", "--headless", "--models", MODELS]
COMMAND += ["--runtimes", "ort-cpu,torch-cpu"]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        warm = [*COMMAND, "--preset", "quick", "--rounds", "1", "--out", f"{folder}/warm"]
        subprocess.run(warm, check=True, capture_output=True)
        start_s = time.perf_counter()
        out = Path(folder) / "standard"
        command = [*COMMAND, "--preset", "standard", "--rounds", "2", "--out", str(out)]
        subprocess.run(command, check=True, capture_output=True)
        wall_s = time.perf_counter() - start_s
        phases_ms: Counter[str] = Counter()
        for journal in out.glob("journal/*.jsonl"):
            for line in journal.read_text().splitlines():
                phases_ms.update(json.loads(line).get("phases_ms", {}))
    useful_s = (phases_ms["warmup"] + phases_ms["measure"]) / 1e3
    sys.stdout.write(
        f"standard sweep of {MODELS} on ort-cpu and torch-cpu, 2 rounds each: {wall_s:.1f} s,"
        f" {useful_s:.1f} s of it warming up and measuring: {useful_s / wall_s:.0%}"
        f" (aim >= 60 %)\n"
    )
    for phase, spent_ms in phases_ms.most_common():
        sys.stdout.write(f"  {phase:16} {spent_ms / 1e3:8.2f} s\n")
