"""Turns the result file of onnxruntime_perf_test into pyperf's JSON, which `graphlap import` reads.

python import_perf_test.py result.csv times.json
graphlap import times.json

Each process that appended to the file is a round of its model.
"""

import json
import re
import sys
from pathlib import Path

if len(sys.argv) != 3:
    sys.exit("usage: python import_perf_test.py result.csv times.json")
# Model, seconds, largest working set, use of the processor, number of the run.
LINE = re.compile(r"(?P<model>.*),(?P<seconds>[^,]*),\d+,-?\d+,(?P<run>\d+)")
rounds: dict[str, list[list[float]]] = {}
for match in map(LINE.fullmatch, Path(sys.argv[1]).read_text("utf-8").splitlines()):
    if match is not None:  # else a statistic of `-s`, which follows from the runs
        model_rounds = rounds.setdefault(match["model"], [])
        if match["run"] == "0" or not model_rounds:
            model_rounds.append([])
        model_rounds[-1].append(float(match["seconds"]))
if not rounds:
    sys.exit(f"{sys.argv[1]}: it has no runs. Give the result file of onnxruntime_perf_test.")
benchmarks = [
    {"metadata": {"name": model}, "runs": [{"values": values} for values in model_rounds]}
    for model, model_rounds in rounds.items()
]
Path(sys.argv[2]).write_text(json.dumps({"version": "1.0", "benchmarks": benchmarks}), "utf-8")
