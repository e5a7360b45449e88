"""Sessions of the C interface, on either build: the same engine, without Python around its run."""

from __future__ import annotations

import json
from array import array

import numpy as np
import pytest

from exporters import install_layout
from exporters.codec import to_json
from exporters.types import ExportedModel
from runtimes import calls as timed
from runtimes.base import Session
from runtimes.calls import TimedCalls
from runtimes.errors import RunFault, Unsupported
from runtimes.onnxruntime import native as api
from runtimes.onnxruntime.runtime import OrtCpu
from runtimes.options import OptionValue, Settings
from tests.runtimes.graphs import Graphs
from tests.runtimes.processes import printed

pytestmark = pytest.mark.skipif(
    not (timed.built() and install_layout.extension("runtimes.onnxruntime._native_base")),
    reason=f"the loop in C was not built; {install_layout.COMPILER_REMEDY}",
)

BUILDS = pytest.mark.parametrize("build", api.BUILDS)


def opened(
    model: ExportedModel, axes: dict[str, int], threads: int = 1, **options: OptionValue
) -> Session:
    return OrtCpu().compile(model, axes, Settings(threads=threads, options=options))


def time_in_c(session: Session, count: int) -> None:
    lane = session.lanes[0]
    scheduled_ns, started_ns, finished_ns = (array("q", bytes(8 * count)) for _ in range(3))
    TimedCalls(lane.calls, lane.advancing() or ()).time(
        scheduled_ns, started_ns, finished_ns, count
    )


@BUILDS
def test_a_run_that_fails_in_c_names_the_node(graphs: Graphs, build: str) -> None:
    text = "(int64[1] x) => (float[1] y) { y = Gather(table, x) }"
    model = graphs.of_text("gather_outside", text, table=np.arange(4, dtype=np.float32))
    with opened(model, {}, call="c", build=build) as session:
        session.lanes[0].bind({"x": np.array([7])})
        with pytest.raises(Exception, match="indices element out of data bounds") as exc_info:
            time_in_c(session, 3)
        fault = session.fault(exc_info.value)
        assert isinstance(fault, RunFault)
        assert "y_node" in str(fault)
        session.lanes[0].bind({"x": np.array([3])})
        time_in_c(session, 3)
        assert session.lanes[0].outputs()["y"].tolist() == [3.0]


@BUILDS
def test_options_reach_the_c_interface(graphs: Graphs, build: str) -> None:
    call_counts = {}
    for level in ("off", "all"):
        with opened(
            graphs.step, {"batch": 1}, call="c", build=build, graph_optimization=level
        ) as session:
            call_counts[level] = len(session.execution.placement)
    assert call_counts["all"] < call_counts["off"], "fused or folded nodes are gone"


@pytest.mark.parametrize("flushed", [False, True])
def test_denormals_are_flushed_in_c_where_that_is_asked_for(graphs: Graphs, flushed: bool) -> None:
    """In a process of its own: the engine decides once for all of its sessions."""
    text = "(float[64] x) => (float[64] y) { y = Mul(x, half) }"
    model = graphs.of_text("halved", text, half=np.full(1, 0.5, np.float32))
    code = """
import sys
import numpy as np
from exporters.codec import from_json
from exporters.types import ExportedModel
from tests.runtimes.onnxruntime.test_native import opened
import json
model = from_json(ExportedModel, json.loads(sys.argv[1]), "model")
with opened(model, {}, call="c", flush_denormals=sys.argv[2] == "True") as session:
    lane = session.lanes[0]
    lane.bind({"x": np.full(64, np.finfo(np.float32).tiny, np.float32)})
    lane.run()
    print(bool(np.any(lane.outputs()["y"].view(np.int32))))
"""
    assert printed(code, json.dumps(to_json(model)), str(flushed)).strip() == str(not flushed)


def test_without_the_loop_in_c_python_times_and_asking_for_c_is_refused(
    graphs: Graphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timed, "_path", lambda: None)
    with opened(graphs.dense, {"batch": 1}) as session:
        assert not session.lanes[0].calls
        assert session.execution.call_path == "run_with_iobinding of the C binding"
    option_sets: list[dict[str, OptionValue]] = [{"call": "c"}, {"build": "library"}]
    for options in option_sets:
        with pytest.raises(Unsupported, match="was not built") as exc_info:
            opened(graphs.dense, {"batch": 1}, 1, **options)
        assert "C compiler" in exc_info.value.remedy
