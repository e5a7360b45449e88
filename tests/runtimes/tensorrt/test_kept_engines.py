"""Engines of TensorRT are kept, used again, and built anew where they are damaged or stale."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

from exporters.diagnostics.catalogue import diagnostic
from runtimes.errors import Unsupported
from runtimes.tensorrt.package import TENSORRT
from tests.runtimes.contract import agrees, reference_of
from tests.runtimes.graphs import Graphs
from tests.runtimes.stand_ins.fixtures import compiled, installed


def test_an_engine_and_its_layers_are_written_for_other_tools(
    graphs: Graphs, tensorrt: ModuleType, tmp_path: Path
) -> None:
    folder = tmp_path / "engines"
    for _ in range(2):
        with compiled(graphs, engine_dir=str(folder)):
            pass
    engine, layers = sorted(folder.iterdir())
    assert (engine.suffixes[-1], layers.name) == (".engine", f"{engine.stem}.layers.json")
    assert engine.read_bytes() == Path(graphs.dense.path).read_bytes()
    assert "Layers" in json.loads(layers.read_text("utf-8"))
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(Unsupported, match="engine_dir"):
        compiled(graphs, engine_dir=str(file))


def test_an_engine_is_kept_and_used_again(
    graphs: Graphs, tensorrt: ModuleType, tmp_path: Path
) -> None:
    for state in ("miss", "hit"):
        with compiled(graphs, tmp_path) as session:
            lane = session.lanes[0]
            assert session.execution.facts["engine_cache"] == state
            assert session.execution.warnings == ()
            reference = reference_of(graphs.dense, 1)
            lane.bind(reference.inputs)
            lane.run()
            assert agrees(lane.outputs(), reference)
    assert len(tensorrt.built) == 1
    with compiled(graphs, tmp_path, builder_level=0) as session:
        assert session.execution.facts["engine_cache"] == "miss"
    assert tensorrt.built[1]["timing"] == b"t"


@pytest.mark.parametrize("harm", ["truncated", "garbage", "other release", "refused"])
def test_a_damaged_or_stale_engine_is_built_again_and_said_so(
    graphs: Graphs,
    tensorrt: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    harm: str,
) -> None:
    compiled(graphs, tmp_path).close()
    (engine,) = (tmp_path / "tensorrt").glob("*.engine")
    if harm == "truncated":
        engine.write_bytes(engine.read_bytes()[:-1])
    elif harm == "garbage":
        engine.write_bytes(b"\x00\xff\n")
    elif harm == "other release":
        installed(TENSORRT, ("11.4.0.106", 13), monkeypatch)
    else:
        monkeypatch.setattr(tensorrt, "RELEASE", b"10.17.0 ")
    with compiled(graphs, tmp_path) as session:
        assert session.execution.facts["engine_cache"] == "rebuilt"
        (warning,) = session.execution.warnings
    if harm in ("truncated", "garbage"):
        assert (warning.code, warning.parameters) == ("engine_rebuilt", {"cause": "damaged"})
    elif harm == "refused":
        assert (warning.code, warning.parameters) == ("engine_rebuilt", {"cause": "refused"})
    else:
        assert warning.code == "engine_of_other_release"
    with compiled(graphs, tmp_path) as session:
        assert session.execution.facts["engine_cache"] == "hit"


def test_a_cache_that_cannot_be_written_is_said_and_the_engine_runs(
    graphs: Graphs, tensorrt: ModuleType, tmp_path: Path
) -> None:
    blocked_path = tmp_path / "a file"
    blocked_path.write_text("in the way")
    with compiled(graphs, blocked_path) as session:
        (warning,) = session.execution.warnings
        assert warning == diagnostic("engine_not_stored", folder=str(blocked_path))
        session.lanes[0].run()
