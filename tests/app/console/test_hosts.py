"""What each host has, the cache as people see and empty it, and a refusal with its parts."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from app.__main__ import main
from app.commands.cache import cache_text, clear_cache
from app.console.streams import ERROR_FILE, take_error_file
from app.machine.release_environments import PINNED
from app.remote.carriers import COMMAND_VARIABLE
from exporters.cache import Store
from tests.app.remote.processes import scripted
from tests.checkout import ROOT

AN_HOUR_AHEAD = f"""
sys.path.insert(0, {str(ROOT)!r})
real = time.time_ns
time.time_ns = lambda: real() + 3600 * 10**9
from app.remote.host import serve_standard_streams
serve_standard_streams()
"""


def test_hosts_tell_their_devices_and_a_clock_that_is_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "400")  # so that no sentence is folded
    monkeypatch.setenv(COMMAND_VARIABLE, shlex.join(scripted(tmp_path / "ssh.py", AN_HOUR_AHEAD)))
    assert main(["doctor", "--cluster", "ssh:pi@board"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("1 host at ssh:pi@board\n\nboard\n")
    assert re.search(r"clock +3,600 s ahead of this machine's clock\n", output)
    assert re.search(r"fake +[0-9.]+", output)
    assert re.search(r"fpga +.*; devices: .*fpga:v80 \(V80", output)
    assert "this machine has" not in output, "the same release"
    assert main(["doctor", "--cluster", "local:1"]) == 0
    assert "clock" not in capsys.readouterr().out


@pytest.fixture
def small_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with an export of 3 MiB that nobody needs, and an engine of 5 MiB."""
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path))
    monkeypatch.setenv("GRAPHLAP_CACHE_LIMIT", str(2**30))
    store = Store(tmp_path, holder=1)
    with store.scratch() as folder:
        (folder / "model.onnx").write_bytes(bytes(3 * 2**20))
        store.put("key", {}, {"model": folder / "model.onnx"})
    engine = tmp_path / "engines" / "tensorrt" / "kept.engine"
    engine.parent.mkdir(parents=True)
    engine.write_bytes(bytes(5 * 2**20))
    return tmp_path


def release(small_cache: Path) -> None:
    """As if the process that needs the export had ended."""
    for lease in (small_cache / "leases").iterdir():
        lease.unlink()


def test_engines_are_told_beside_the_exports_and_cleared_with_them(small_cache: Path) -> None:
    release(small_cache)
    text_before = cache_text(None)
    assert "engines   5.0 MiB" in text_before
    assert "exports   1 in 1 file\n" in text_before
    text = cache_text(clear_cache())
    assert "freed     8.0 MiB" in text
    assert "exports   0 in 0 files" in text
    assert not (small_cache / "engines").exists()


def test_while_a_plan_runs_no_engine_is_taken_from_it(small_cache: Path) -> None:
    assert "freed     0.0 MiB" in cache_text(clear_cache())
    assert (small_cache / "engines" / "tensorrt" / "kept.engine").exists()
    environment = small_cache / "environments" / "onnxruntime-1.20"
    environment.mkdir(parents=True)
    (environment / PINNED).write_bytes(bytes(2 * 2**20))
    clear_cache()
    assert environment.exists()


def test_environments_of_releases_are_listed_and_cleared_with_them(small_cache: Path) -> None:
    release(small_cache)
    environment = small_cache / "environments" / "onnxruntime-1.20"
    environment.mkdir(parents=True)
    (environment / PINNED).write_bytes(bytes(2 * 2**20))
    (small_cache / "environments" / ".aside-x").mkdir()
    text_before = cache_text(None)
    assert "2.0 MiB in 1 environment," in text_before and "onnxruntime-1.20\n" in text_before
    clear_cache()
    assert not environment.exists()


def test_a_cause_that_holds_a_colon_comes_back_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, file = tmp_path / "nets.toml", tmp_path / "error.json"
    plan.write_text('[[sweeps]]\nmodels = ["mlp"]\nmodls = ["mlp"]\n')
    monkeypatch.setenv(ERROR_FILE, str(file))
    assert main(["--headless", "--plan", str(plan)]) == 2
    error = take_error_file(file)
    assert error is not None
    assert "nets.toml: " in error.cause and "modls" in error.cause
    assert error.remedy.startswith("did you mean")
    assert capsys.readouterr().err == f"graphlap: {error}\n"
    assert not file.exists()


def test_nothing_is_written_where_nobody_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ERROR_FILE, raising=False)
    monkeypatch.chdir(tmp_path)
    assert main(["--headless", "--plan", "none.toml"]) == 2
    assert list(tmp_path.iterdir()) == []
