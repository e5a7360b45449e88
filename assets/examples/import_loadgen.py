"""Turns the detail log of MLPerf's LoadGen into a report that `graphlap import` reads.

python import_loadgen.py mlperf_log_detail.txt report.json
graphlap import report.json

The report has the layout of benchmark_app's, because both state figures alone. The option `api` of
the row has LoadGen's scenario and validity. Percentiles that are no integers are left out.
"""

import json
import re
import sys
from pathlib import Path

if len(sys.argv) != 3:
    sys.exit("usage: python import_loadgen.py mlperf_log_detail.txt report.json")
MARK = ":::MLLOG "
lines = Path(sys.argv[1]).read_text("utf-8").splitlines()
if not lines or not lines[0].startswith(MARK):
    sys.exit(f"{sys.argv[1]}: not a detail log of LoadGen. Give its mlperf_log_detail.txt.")
entries = [json.loads(line.removeprefix(MARK)) for line in lines if line.strip()]
log = {entry["key"]: entry["value"] for entry in entries}
if "result_validity" not in log:
    sys.exit(f"{sys.argv[1]}: it has no results. Give the log of a performance test that ended.")

scenario = log["effective_scenario"]
kind = "query_latency_ns" if scenario == "MultiStream" else "latency_ns"
rate = {
    "SingleStream": "result_qps_with_loadgen_overhead",
    "Server": "result_completed_samples_per_sec",
    "Offline": "result_samples_per_second",
}.get(scenario, "")
NS_IN_MS = 1e6
results = {
    f"latency_{theirs}": log[f"result_{ours}_{kind}"] / NS_IN_MS
    for ours, theirs in (("mean", "avg"), ("min", "min"), ("max", "max"))
}
for key, value in log.items():
    match = re.fullmatch(rf"result_(\d+)\.0+_percentile_(?:per_)?{kind}", key)
    if match:
        results[f"latency ({match[1]} percentile) (ms)"] = value / NS_IN_MS
results["iterations_num"] = log["result_query_count"]
if rate in log:
    results["throughput"] = log[rate]
validity = log["result_validity"]
api = f"LoadGen {scenario}" + ("" if validity == "VALID" else f" {validity}")
report = {
    "cmd_options": {},
    "configuration_setup": {"topology": log.get("sut_name") or "LoadGen", "API": api},
    "execution_results": results,
}
Path(sys.argv[2]).write_text(json.dumps(report, indent=1), "utf-8")
