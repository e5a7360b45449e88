"""The program without one of its capabilities: a child process removes its line of the registry.

It starts, plans, measures, and reads runs that the capability made; a plan that asks for it is
refused by the option that does.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.plan.capabilities import CAPABILITIES
from app.plan.settings.table import PLAN_SETTINGS
from app.runs.reader import read_run
from exporters import install_layout
from tests.app.sweep.sweeps import write_add_graph
from tests.checkout import ROOT
from tests.golden.folders import unpack
from tests.processes import python

LINES = {
    "slo": ("--slo", "p99=5ms"),
    "tune": ("--tune", "p50"),
    "largest_batch": ("--largest-batch",),
    "cold_start": ("--cold-start", "2"),
    "profile_ops": ("--op-times",),
    "accuracy": ("--accuracy", "."),
    "sensitivity": (),
}
"""The words that ask for each; what every run has can be missing without harm."""
OFTEN = ("slo", "cold_start")
"""A scheduler of rounds and follow-up jobs; a process of each of the others takes seconds too."""
CHILD = """
import json, sys
from app.plan.capabilities import CAPABILITIES
from app.__main__ import main
key, commands = json.loads(sys.argv[1])
del CAPABILITIES[key]
codes = []
for words in commands:
    try:
        codes.append(main(words))
    except SystemExit as end:
        codes.append(end.code)
print(json.dumps(codes), file=sys.stderr)
"""


STORED = {"slo": "slo", "tune": "tune", "largest_batch": "largest", "accuracy": "accuracy"}
"""Runs that have a capability's results; the others' are all in one."""


def test_every_capability_has_its_setting() -> None:
    assert {row.key for row in PLAN_SETTINGS if row.is_capability} == CAPABILITIES.keys()
    assert LINES.keys() == CAPABILITIES.keys()


def test_every_part_of_a_registered_capability_exists() -> None:
    parts = [
        getattr(capability, name)
        for capability in CAPABILITIES.values()
        for name in capability.__slots__
        if name not in ("found_file", "kind", "worker", "doing")
    ]
    assert all(callable(install_layout.load(f"app.{part}")) for part in parts if part)


@pytest.mark.parametrize(
    "key",
    [
        name if name in OFTEN else pytest.param(name, marks=pytest.mark.rare)
        for name in CAPABILITIES
    ],
)
def test_the_program_works_without_a_capability(key: str, tmp_path: Path) -> None:
    example = unpack(STORED.get(key, "extras"), tmp_path / "example")
    graph = str(write_add_graph(tmp_path / "add.onnx"))
    grid_run, refusal = tmp_path / "grid_run", tmp_path / "refusal"
    plan = ("run", graph, "--runtimes", "fake", "--out")
    commands = (
        [*plan, str(grid_run), "--preset", "quick", "--rounds", "1"],
        ["show", str(example)],
        ["report", str(example), "-o", str(tmp_path / "page.html")],
        ["export", str(example), "-f", "json,markdown,csv"],
        ["verify", str(example)],
        [*plan, str(refusal), *LINES[key]],
    )
    child = python("-c", CHILD, json.dumps([key, commands]), cwd=ROOT, timeout=120)
    codes = json.loads(child.stderr.splitlines()[-1])
    assert codes == [0, 0, 0, 0, 0, 2 if LINES[key] else 0], child.stderr
    assert {r.status for rounds in read_run(grid_run).rounds.values() for r in rounds.values()} == {
        "ok"
    }
    assert (tmp_path / "page.html").stat().st_size > 0
    if LINES[key]:
        assert LINES[key][0] in child.stderr
        assert not refusal.exists(), "nothing is measured in its place"
