"""A run in one line: what a list of runs says of each, also where a file is gone or damaged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from app.run_folder.folder import RunFolder
from app.run_folder.live_status import Live, LiveFile, run_headline
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


def test_a_run_that_nobody_ended_was_interrupted(tmp_path: Path) -> None:
    assert " · interrupted · " in run_headline(_run(tmp_path / "run", None))
    assert " · stopped · " in run_headline(_run(tmp_path / "other", Live("stopped")))


def test_what_is_no_run_or_is_damaged_says_nothing_it_does_not_know(tmp_path: Path) -> None:
    assert run_headline(tmp_path) == ""
    path = _run(tmp_path / "run", Live("finished"))
    (path / "live.json").write_text("{half")
    assert " · interrupted · " in run_headline(path)
    (path / "manifest.json").write_text("[]")
    assert run_headline(path) == ""
