"""The notebook of the documentation, executed by a real kernel on a run that is there."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")
pytest.importorskip("nbformat", reason="pip install 'graphlap[dev]'")
pytest.importorskip("nbclient", reason="pip install 'graphlap[dev]'")
pytest.importorskip("ipykernel", reason="pip install 'graphlap[dev]'")

import nbclient
import nbformat

from app.cases.case import Case
from app.run_folder.folder import RunFolder
from tests.app.run_folder.runs import manifest_of, record
from tests.checkout import ROOT

KERNEL = "graphlap-tested"
CASES = tuple(
    Case("mlp", runtime, axes={"batch": batch})
    for runtime in ("ort-cpu", "openvino-cpu")
    for batch in (1, 8)
)


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A kernel of this interpreter, found nowhere but here."""
    folder = tmp_path / "jupyter" / "kernels" / KERNEL
    folder.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    kernel_spec = {"argv": command, "display_name": KERNEL, "language": "python"}
    (folder / "kernel.json").write_text(json.dumps(kernel_spec))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    return KERNEL


def outputs_of(cells: list[Any]) -> list[str]:
    """The kinds of what each cell of code has shown, all in one word."""
    return [
        " ".join(kind for output in cell.outputs for kind in output.get("data", {}))
        for cell in cells
        if cell.cell_type == "code"
    ]


def test_each_cell_runs_and_shows_what_it_says(tmp_path: Path, kernel: str) -> None:
    for name in ("earlier", "run"):
        with RunFolder.create(tmp_path / name, manifest_of(CASES, rounds=3)) as folder:
            for place, case in enumerate(CASES):
                for number in range(3):
                    record(folder, case, number, [10.0 + place + 0.01 * run for run in range(400)])
    notebook = nbformat.read(ROOT / "docs" / "notebook.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    assert not any(outputs_of(notebook.cells)), "it is kept without what one machine has shown"
    client = nbclient.NotebookClient(
        notebook,
        timeout=120,
        kernel_name=kernel,
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute(env={**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", "")})
    shown_outputs = outputs_of(notebook.cells)
    assert sum("text/html" in kinds for kinds in shown_outputs) >= 5, "dataframes"
    assert sum("image/svg+xml" in kinds for kinds in shown_outputs) == 2, "figures"
