"""Ranges of rounds and phases under a profiler: over a library that writes down its calls."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporters.diagnostics.catalogue import codes
from runtimes.cuda import nvtx, runtime
from tests.runtimes.graphs import Graphs
from tests.runtimes.test_gpu_rows import measured

_SOURCE = """
#include <stdio.h>
static void note(const char *text) {
    FILE *file = fopen(CALLS, "a");
    fprintf(file, "%s\\n", text);
    fclose(file);
}
int nvtxRangePushA(const char *name) { note(name); return 0; }
int nvtxRangePop(void) { note("pop"); return 0; }
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of the calls; the library is found where the packages have it."""
    call_file, source = tmp_path / "calls", tmp_path / "nvtx.c"
    source.write_text(_SOURCE)
    # A name of its own: the machine may have NVIDIA's library, which comes before the last.
    monkeypatch.setattr(nvtx, "SONAMES", ("libgraphlap_nvtx.so.1",))
    library = tmp_path / nvtx.SONAMES[0]
    define = f'-DCALLS="{call_file}"'
    subprocess.run(["cc", "-shared", "-fPIC", define, "-o", library, source], check=True)
    monkeypatch.setattr(runtime, "wheel_folders", lambda: [tmp_path])
    nvtx._library.cache_clear()
    yield call_file
    nvtx._library.cache_clear()


def test_a_profiler_gets_the_round_and_its_phases(
    graphs: Graphs, calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(nvtx.LISTENER, "/a/profiler.so")
    result = measured(graphs.dense, "ort-cpu", tmp_path)
    assert result.status == "ok", result.reason
    first, *lines, last = calls.read_text().splitlines()
    assert first == "round 0 of case" and last == "pop"
    assert lines[1::2] == ["pop"] * (len(lines) // 2), "one phase ends before the next begins"
    phases = lines[::2]
    assert set(phases) == result.phases_ms.keys()
    assert phases.index("compile") < phases.index("warmup") < phases.index("measure")
    assert "nvtx_unavailable" not in codes(result.warnings)


def test_without_a_profiler_nothing_is_called(
    graphs: Graphs, calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(nvtx.LISTENER, raising=False)
    assert measured(graphs.dense, "ort-cpu", tmp_path).status == "ok"
    assert not calls.exists()


def test_a_profiler_without_the_library_is_a_warning(
    graphs: Graphs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(nvtx.LISTENER, "/a/profiler.so")
    monkeypatch.setattr(nvtx, "SONAMES", ("libgraphlap_absent.so.1",))
    nvtx._library.cache_clear()
    result = measured(graphs.dense, "ort-cpu", tmp_path)
    nvtx._library.cache_clear()
    assert result.status == "ok"
    assert "nvtx_unavailable" in codes(result.warnings)
