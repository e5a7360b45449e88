"""The installed command, where the user's folders hold packages called as ours are in a checkout.

Each test stands in such a folder, and PYTHONPATH names another one.
"""

from __future__ import annotations

from pathlib import Path

from tests.app.cli.headless.batch import rows
from tests.app.sweep.sweeps import write_add_graph
from tests.environments import make_environment
from tests.installed.environment import Environment

PLAN = """
name = "small"
preset = "brief"
rounds = 1

[[sweeps]]
models = ["dense_128_32"]
runtimes = ["ort-cpu", "openvino-cpu", "fpga:v80"]

[[sweeps]]
models = ["{factory}"]
runtimes = ["torch-cpu"]
"""
FACTORY = """
import torch
from app import WIDTH

def build():
    return torch.nn.Linear(WIDTH, 4), {"x": torch.ones(1, WIDTH)}
"""


def test_a_sweep_is_measured_on_every_runtime(
    installed: Environment, hostile: Path, pythonpath: str, tmp_path: Path
) -> None:
    """A factory file's own `app`, on the other hand, is the one that it gets."""
    factory = tmp_path / "nets" / "mynet.py"
    (factory.parent / "app").mkdir(parents=True)
    (factory.parent / "app" / "__init__.py").write_text("WIDTH = 24\n", "utf-8")
    factory.write_text(FACTORY, "utf-8")
    (hostile / "plan.toml").write_text(PLAN.format(factory=f"{factory}:build"), "utf-8")
    process = installed.run(
        *("graphlap", "--headless", "--plan", "plan.toml", "--out", "run", "--op-times"),
        cwd=hostile,
        PYTHONPATH=pythonpath,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    # The processes that read a graph and that measure the machine are found as well.
    tables = [path.read_text("utf-8") for path in (hostile / "run" / "operators").iterdir()]
    assert any("node_linear" in table for table in tables)
    assert "GFLOP/s" in process.stdout
    measured = rows(hostile / "run")
    assert sorted((row["model"], row["runtime"]) for row in measured) == sorted(
        [
            *(("dense_128_32", name) for name in ("ort-cpu", "openvino-cpu", "fpga:v80")),
            (f"{factory}:build", "torch-cpu"),
        ]
    )
    for row in measured:
        assert row["status"] == "ok", row
        assert row["clock"] == ("simulated" if row["runtime"] == "fpga:v80" else "wall")
        assert int(row["iterations"]) > 100
        assert 0 < float(row["latency_p50_us"]) < 1e6


def test_a_case_of_another_environment_has_our_packages_and_its_engine(
    installed: Environment, hostile: Path, pythonpath: str, tmp_path: Path
) -> None:
    """What lies beside our packages, here somebody else's `app`, is not in the way either."""
    python = make_environment(tmp_path / "there", "numpy", "onnxruntime")
    write_add_graph(hostile / "add.onnx")
    process = installed.run(
        *("graphlap", "--headless", "--models", "add.onnx", "--preset", "glance", "--rounds", "1"),
        *("--runtimes", "ort-cpu@there", "--python", f"there={python}", "--out", "run"),
        cwd=hostile,
        PYTHONPATH=pythonpath,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    (row,) = rows(hostile / "run")
    assert row["engine_path"].startswith(str(tmp_path / "there"))
    assert row["call_path"].endswith("timed in C")


def test_engines_installed_to_a_folder_of_pythonpath_are_found(
    installed: Environment, hostile: Path, tmp_path: Path
) -> None:
    """As `pip install --target` leaves them; a folder of sources is none."""
    target = tmp_path / "target"
    (target / "engine-1.0.dist-info").mkdir(parents=True)
    (target / "engine.py").touch()
    script = tmp_path / "scripts" / "look.py"
    script.parent.mkdir()
    script.write_text(
        "import sys\n"
        "from graphlap.__main__ import main\n"
        "main()\n"
        "print(*sys.path[-1:], [path for path in sys.path if 'hostile' in path])\n",
        "utf-8",
    )
    path = f"{hostile}:{target}"
    process = installed.run("python", str(script), "models", cwd=tmp_path, PYTHONPATH=path)
    assert process.stdout.splitlines()[-1] == f"{target} []", process.stderr
