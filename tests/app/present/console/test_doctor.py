"""What this machine and other hosts have and lack."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from app.cli.cache import cache_table, clear_cache
from app.machine.placement import as_list, usable_cores
from app.machine.release_environments import PINNED
from app.present.console.doctor import doctor, probe_all
from app.present.terminal import as_text
from app.sweep.remote.carriers import COMMAND_VARIABLE
from exporters import install_layout
from exporters.cache import Store
from runtimes import registry
from tests.app.machine.unprivileged import give_up
from tests.app.present.console.telling import told
from tests.app.sweep.remote.processes import scripted
from tests.checkout import ROOT
from tests.golden.test_width import too_wide
from tests.processes import python

WIDE = 400
ENGINES = {"torch", "onnxruntime", "openvino", "tensorrt", "tensorrt_rtx_bindings"}


def script(path: Path, body: str) -> tuple[str, ...]:
    path.write_text("import ctypes, json, os, sys, time\n" + body)
    return sys.executable, str(path)


def test_every_runtime_is_in_the_report_and_the_parent_imports_no_engine() -> None:
    """With Qt made impossible to import, as on a machine that has none."""
    code = (
        "import sys; sys.modules['PySide6'] = sys.modules['pyqtgraph'] = None\n"
        "from app.__main__ import main; code = main(['doctor'])\n"
        "names = [name for name, module in sys.modules.items() if module is not None]\n"
        "sys.stderr.write(' '.join(names)); sys.exit(code)"
    )
    result = python("-c", code, cwd=ROOT, env={**os.environ, "COLUMNS": "80"})
    assert result.returncode == 0, result.stdout
    assert too_wide(result.stdout, 80) == []
    assert not {*ENGINES, "pandas"} & set(result.stderr.split())
    for word in ("python", "cores", "governor", "load", "memory", "cache"):
        assert word in result.stdout
    for name in registry.names():
        assert f"\n{name} " in result.stdout


LOADER = """
ctypes.CDLL(None).write(2, b"libfoo.so.9: cannot open shared object file\\n", 45)
json.dump({"version": "1.2", "reason": "it does not load", "remedy": "mend it"}, sys.stdout)
"""


def test_what_a_loader_says_in_c_is_shown_and_makes_the_exit_code_1(tmp_path: Path) -> None:
    diagnosis = doctor(script(tmp_path / "broken.py", LOADER))
    report = as_text(diagnosis.blocks, WIDE)
    assert diagnosis.code == 1
    assert re.search(r"broken +1.2 +it does not load +mend it", report)
    first, second, third = report.splitlines()[:3]
    assert first == "- ready to measure: no runtime", "the answer comes first"
    assert second.endswith(", ".join(registry.names()))
    assert third.startswith("- warnings for measuring: ")
    assert "loader of fake: libfoo.so.9: cannot open shared object file" in report


PERMITTED = (
    "import json; from app.present.console.doctor import permissions; "
    "print(json.dumps([*permissions()]))"
)


def permitted(setup: Callable[[], None] | None = None) -> dict[str, str]:
    """What it says in a process of its own, by what it is said of."""
    result = python("-c", PERMITTED, check=True, cwd=ROOT, preexec_fn=setup)
    return dict(json.loads(result.stdout))


def test_who_may_not_lock_memory_nor_take_a_priority_hears_the_remedy() -> None:
    permissions = permitted(give_up)
    assert permissions["--lock-memory"].startswith("not permitted")
    assert "ulimit -l" in permissions["--lock-memory"]
    assert permissions["--realtime"].startswith("not permitted")
    assert "ulimit -r" in permissions["--realtime"]
    assert permissions["--cores"] == as_list(usable_cores())


def test_an_engine_that_crashes_while_it_is_loaded_is_told(tmp_path: Path) -> None:
    command = script(tmp_path / "crash.py", "os.kill(os.getpid(), 11)")
    (probe,) = probe_all(["ort-cpu"], command)
    assert probe.is_broken
    assert "signal 11" in probe.reason


def test_what_is_only_missing_is_no_failure(tmp_path: Path) -> None:
    body = "json.dump({'reason': 'no such package', 'remedy': 'pip install it'}, sys.stdout)"
    diagnosis = doctor(script(tmp_path / "missing.py", body))
    assert diagnosis.code == 0
    report = as_text(diagnosis.blocks, WIDE)
    assert re.search(r"missing +no such package +pip install it", report)
    assert len(diagnosis.conditions) == 8
    for condition in diagnosis.conditions:
        assert condition.verdict in ("ok", "warn", "unknown")
        assert bool(condition.remedy) == (condition.verdict == "warn")


def test_what_an_engine_prints_does_not_spoil_the_answer(tmp_path: Path) -> None:
    package = tmp_path / "onnxruntime"
    package.mkdir()
    (package / "__init__.py").write_text(
        "print('hello from the engine')\nraise OSError('no luck')\n"
    )
    code = (
        "import runpy, sys\n"
        f"sys.path[:0] = [{str(tmp_path)!r}, {str(install_layout.ROOT)!r}]\n"
        f"runpy.run_module({install_layout.module_name('runtimes.inquiries')!r}, "
        "run_name='__main__', alter_sys=True)\n"
    )
    (probe,) = probe_all(["ort-cpu"], (sys.executable, "-P", "-c", code, "probe"))
    assert probe.is_broken
    assert "no luck" in probe.reason
    assert probe.loader[-1] == "hello from the engine"


AN_HOUR_AHEAD = f"""
sys.path.insert(0, {str(ROOT)!r})
real = time.time_ns
time.time_ns = lambda: real() + 3600 * 10**9
from app.sweep.remote.host import Server
from exporters.install_layout import taken_streams
Server(*taken_streams(), (), "").serve()
"""


def test_hosts_tell_their_devices_and_a_clock_that_is_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "400")  # so that no sentence is folded
    monkeypatch.setenv(COMMAND_VARIABLE, shlex.join(scripted(tmp_path / "ssh.py", AN_HOUR_AHEAD)))
    code, output = told("doctor", "--cluster", "ssh:pi@board")
    assert code == 0 and output.startswith("1 host at ssh:pi@board\n")
    assert "- the clock of board is 3,600 s ahead of this machine's\n" in output
    assert re.search(r"board +fake +[0-9.]+", output)
    assert re.search(r"board +fpga +.*fpga:v80 \(V80", output)
    assert "this machine has" not in output, "the same release"
    code, output = told("doctor", "--cluster", "local:1")
    assert code == 0 and "clock" not in output


@pytest.fixture
def small_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with an export of 3 MiB, an engine of 5 MiB and an environment of 2 MiB."""
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path))
    monkeypatch.setenv("GRAPHLAP_CACHE_LIMIT", str(2**30))
    store = Store(tmp_path, holder=1)
    with store.scratch() as folder:
        (folder / "model.onnx").write_bytes(bytes(3 * 2**20))
        store.put("key", {}, {"model": folder / "model.onnx"})
    engine = tmp_path / "engines" / "tensorrt" / "kept.engine"
    engine.parent.mkdir(parents=True)
    engine.write_bytes(bytes(5 * 2**20))
    environment = tmp_path / "environments" / "onnxruntime-1.20"
    environment.mkdir(parents=True)
    (environment / PINNED).write_bytes(bytes(2 * 2**20))
    (environment.parent / ".aside-x").mkdir()
    return tmp_path


def test_all_of_a_cache_is_told_and_cleared_unless_a_plan_runs(small_cache: Path) -> None:
    def table(freed_bytes: int | None) -> str:
        return re.sub(" +", " ", as_text([cache_table(freed_bytes)], WIDE))

    assert "freed 0.0 MiB" in table(clear_cache())
    assert (small_cache / "engines" / "tensorrt" / "kept.engine").exists()
    assert (small_cache / "environments" / "onnxruntime-1.20").exists()
    for lease in (small_cache / "leases").iterdir():
        lease.unlink()  # as if the process that needs the export had ended
    text_before = table(None)
    for line in ("engines 5.0 MiB", "exports 1\nfiles 1\n", "environments 1\n"):
        assert line in text_before
    assert "releases 2.0 MiB onnxruntime-1.20, not in" in text_before
    text = table(clear_cache())
    assert "freed 10.0 MiB" in text and "exports 0\nfiles 0\n" in text
    assert not (small_cache / "engines").exists()
    assert not (small_cache / "environments" / "onnxruntime-1.20").exists()
