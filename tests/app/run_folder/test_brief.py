"""A run in one line, its cells of warnings, and the inputs that it kept."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np

from app.run_folder.diagnostics import diagnostic_columns, diagnostics_of
from app.run_folder.folder import RunFolder, write_inputs
from app.run_folder.live_status import Live, LiveFile, run_headline
from exporters.diagnostics import action, diagnostic
from exporters.types import Reference, save_reference
from tests.app.run_folder.runs import CASE, ENVIRONMENT, OTHER, manifest_of

_GPU = {"name": "a GPU", "driver": "580.65.06"}


_PACKAGES = {"onnxruntime": "1.31.1", "numpy": "2.4", "torch": "2.13"}


def _run(path: Path, live: Live | None) -> Path:
    gpus = {"0": _GPU, "1": _GPU}
    facts = {"packages": _PACKAGES, "commit": "0123456789ab", "gpus": gpus}
    environment = {**ENVIRONMENT, **facts}
    manifest = replace(
        manifest_of((CASE, OTHER)),
        environment=environment,
        created_at_utc="2026-03-01T02:07:09.000+00:00",
    )
    with RunFolder.create(path, manifest) as folder:
        folder.begin(environment)
        if live is not None:
            LiveFile(folder).write(live, always=True)
    return path


def test_it_says_when_of_what_how_many_and_on_which_versions(tmp_path: Path) -> None:
    headline = run_headline(_run(tmp_path / "run", Live("finished", cases_failed=1)))
    assert headline == (
        "2026-03-01 02:07 · 2 cases · finished, 1 failed · commit 0123456789ab · "
        "driver 580.65.06 · onnxruntime 1.31.1 · torch 2.13"
    )


def test_what_is_no_run_or_is_damaged_says_nothing_it_does_not_know(tmp_path: Path) -> None:
    assert run_headline(tmp_path) == ""
    path = _run(tmp_path / "run", Live("finished"))
    (path / "live.json").write_text("{half")
    assert " · interrupted · " in run_headline(path)
    (path / "manifest.json").write_text("[]")
    assert run_headline(path) == ""


def test_a_warning_of_several_rounds_stands_once_in_its_cell() -> None:
    entries = [diagnostic("no_steady_state", warmup_s=s) for s in (0.306, 0.313, 0.25)]
    outliers = diagnostic("outliers", share=0.02)
    columns = diagnostic_columns([*entries, outliers])
    cell = str(columns["warnings"])
    assert cell.count(action(entries[0])) == 1
    assert "0.25" in cell
    assert "0.313" in cell
    assert columns["warning_codes"] == "no_steady_state;outliers"
    assert len(diagnostics_of(columns)) == 4


def test_inputs_are_copied_a_part_at_a_time(tmp_path: Path) -> None:
    large = np.arange(4 * 2**20, dtype=np.float64)
    source = tmp_path / "stored.npz"
    save_reference(str(source), Reference({"x": large, "a/b": np.ones(3)}, {"y": large}))
    tracemalloc.start()
    with (tmp_path / "kept.npz").open("wb") as file:
        write_inputs(source, file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < large.nbytes // 4
    with np.load(tmp_path / "kept.npz") as copy:
        assert set(copy.files) == {"x", "a/b"}
        assert np.array_equal(copy["x"], large)
