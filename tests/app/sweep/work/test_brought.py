"""What a round brings to another machine: every file that it names, by content, and no other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.cases.round import MeasureJob, NeighbourJob
from app.remote.contract import ENGINES, FILE, SAMPLES
from app.sweep.work.remote_channel import prepare_job
from exporters.file_access import file_sha256
from exporters.types import ExportedModel, Factory, axes_key
from runtimes.options import Settings
from tests.app.sweep.sweeps import exported_add, round_work


def a_job(model: ExportedModel, tmp_path: Path) -> MeasureJob:
    job = round_work(model, tmp_path).job
    return replace(job, settings=replace(job.settings, cache_dir="/here/engines"))


def test_a_graph_comes_with_its_weights_and_its_reference(
    model: ExportedModel, tmp_path: Path
) -> None:
    weights = tmp_path / "weights.bin"
    weights.write_bytes(b"weights")
    model = replace(model, beside=(str(weights),))
    job, files = prepare_job(a_job(model, tmp_path), send_code=False)
    assert [file.name for file in files] == ["add.onnx", "weights.bin", "reference.npz"]
    assert [file.sha256 for file in files] == [file_sha256(file.path) for file in files]
    assert job.model.path == f"{FILE}{files[0].sha256}/add.onnx"
    assert job.samples_path == SAMPLES
    assert job.settings.cache_dir == ENGINES


def test_only_the_sizes_that_are_run_are_brought(model: ExportedModel, tmp_path: Path) -> None:
    other = tmp_path / "other.npz"
    other.write_bytes(b"other")
    model = replace(model, references={**model.references, axes_key({"batch": 64}): str(other)})
    job, files = prepare_job(a_job(model, tmp_path), send_code=False)
    assert list(job.model.references) == [axes_key({})]
    assert len(files) == 2


def test_files_of_one_name_and_another_content_have_names_of_their_own(
    model: ExportedModel, tmp_path: Path
) -> None:
    libraries = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        library = tmp_path / folder / "ops.so"
        library.write_text(folder)
        libraries.append(str(library))
    job, files = prepare_job(
        a_job(replace(model, custom_ops=tuple(libraries)), tmp_path), send_code=False
    )
    names = [file.name for file in files if file.name.endswith("ops.so")]
    assert names == ["ops.so", f"{file_sha256(Path(libraries[1]))[:12]}-ops.so"]
    assert [path.rpartition("/")[2] for path in job.model.custom_ops] == names


def test_a_neighbour_brings_its_own(model: ExportedModel, tmp_path: Path) -> None:
    (tmp_path / "beside").mkdir()
    second = exported_add(tmp_path / "beside")
    job = replace(a_job(model, tmp_path), neighbour=NeighbourJob(second, "fake", Settings()))
    remote_job, _ = prepare_job(job, send_code=False)
    assert remote_job.neighbour is not None
    assert remote_job.neighbour.model.path.startswith(FILE)
    assert remote_job.neighbour.settings.cache_dir == "", "which keeps nothing"


@pytest.mark.parametrize("send_code", [False, True])
def test_a_users_own_file_goes_where_he_says_so(
    model: ExportedModel, tmp_path: Path, send_code: bool
) -> None:
    code, weights = tmp_path / "net.py", tmp_path / "w.safetensors"
    code.write_text("def make(): ...")
    weights.write_bytes(b"w")
    factory = Factory(f"{code}:make", weights=str(weights))
    job, files = prepare_job(a_job(replace(model, factory=factory), tmp_path), send_code)
    assert ("net.py" in [file.name for file in files]) == send_code
    if send_code:
        assert job.model.factory is not None
        assert job.model.factory.target == f"{FILE}{file_sha256(code)}/net.py:make"
        assert job.model.factory.weights == f"{FILE}{file_sha256(weights)}/w.safetensors"
    else:
        assert job.model.factory is None


def test_a_module_of_the_catalogue_is_there_already(model: ExportedModel, tmp_path: Path) -> None:
    factory = Factory("exporters.models.networks:build")
    job, _ = prepare_job(a_job(replace(model, factory=factory), tmp_path), send_code=False)
    assert job.model.factory == factory
