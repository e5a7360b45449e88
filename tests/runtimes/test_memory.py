"""A closed session gives its memory back: a long sweep or a search must not fill the machine."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from exporters.codec import to_json
from tests.runtimes.graphs import Graphs

pytestmark = pytest.mark.rare
WARM_UP, SESSIONS = 30, 200
ALLOWED_PER_SESSION = 20 * 1024
"""Bytes. The weights alone are 1 MiB, a callback kept by mistake some 11 KiB."""

SCRIPT = """
import json, sys
import psutil
from exporters.codec import from_json
from exporters.types import ExportedModel, load_reference
from runtimes import registry
from runtimes.options import Settings
from runtimes.session.session_group import compile_sessions
runtime, settings = registry.load(sys.argv[1]), Settings(threads=2, options=json.loads(sys.argv[3]))
model = from_json(ExportedModel, json.loads(sys.argv[2]))
reference = load_reference(model.references["batch=1"])
process, sizes = psutil.Process(), []
for sessions in map(int, sys.argv[4:]):
    for _ in range(sessions):
        with compile_sessions(runtime, model, {"batch": 1}, settings) as session:
            for lane in session.lanes:
                lane.bind(reference.inputs)
                lane.run()
                lane.outputs()
    sizes.append(process.memory_info().rss)
print(json.dumps(sizes))
"""


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ort-cpu", {}),
        ("ort-cpu", {"sessions": 2}),
        ("openvino-cpu", {}),
        ("openvino-cpu", {"streams": 2}),
        ("torch-cpu", {}),
        ("fpga", {}),
    ],
)
def test_two_hundred_sessions_do_not_grow_the_process(
    graphs: Graphs, name: str, options: dict[str, int]
) -> None:
    model = json.dumps(to_json(graphs.wide))
    process = subprocess.run(
        [
            *(sys.executable, "-c", SCRIPT, name, model, json.dumps(options)),
            *(str(WARM_UP), str(SESSIONS)),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    memory_before, memory_after = json.loads(process.stdout)
    assert memory_after - memory_before < SESSIONS * ALLOWED_PER_SESSION
