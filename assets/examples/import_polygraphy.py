"""Turns what `polygraphy run --save-outputs` wrote into pyperf's JSON, for `graphlap import`.

python import_polygraphy.py outputs.json times.json
graphlap import times.json

Each runner is a case, whose name is the model's.
"""

import json
import re
import sys
from pathlib import Path

if len(sys.argv) != 3:
    sys.exit("usage: python import_polygraphy.py outputs.json times.json")
document = json.loads(Path(sys.argv[1]).read_text("utf-8"))
if document.get("polygraphy_class") != "RunResults":
    sys.exit(f"{sys.argv[1]}: not outputs of Polygraphy. Give what --save-outputs wrote.")
benchmarks = []
for name, iterations in document["lst"]:
    # A runner's name ends with when it was made, which is nothing that sets two cases apart.
    match = re.fullmatch(r"(.+-runner-N\d+)-\d\d/.*", name)
    values = [iteration["runtime"] for iteration in iterations]
    runner = match[1] if match else name
    benchmarks.append({"metadata": {"name": runner}, "runs": [{"values": values}]})
Path(sys.argv[2]).write_text(json.dumps({"version": "1.0", "benchmarks": benchmarks}), "utf-8")
