"""Which installed package an engine is of, found without asking all that are installed."""

from __future__ import annotations

from importlib.metadata import packages_distributions
from pathlib import Path

import onnxruntime

from app.workers.execution_facts import distributions_of, engine_facts
from runtimes.registry import load


def install(site: Path, name: str, *files: str) -> None:
    folder = site / f"{name.replace('-', '_')}-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (folder / "RECORD").write_text("".join(f"{file},,\n" for file in files))


def test_an_engine_is_told_with_its_file_and_its_package() -> None:
    facts = engine_facts(load("ort-cpu"))
    assert facts["engine_path"] == onnxruntime.__file__
    assert [facts["engine_distribution"]] == packages_distributions()["onnxruntime"]


def test_openvinos_library_is_told_though_its_module_is_never_imported() -> None:
    runtime = load("openvino-cpu")
    runtime.load()
    facts = engine_facts(runtime)
    assert "libopenvino_c.so" in facts["engine_path"]
    assert facts["engine_distribution"] == "openvino"


def test_what_is_part_of_us_has_no_package() -> None:
    assert engine_facts(load("fake")) == {}


def test_two_packages_that_wrote_the_same_file_are_both_told(tmp_path: Path) -> None:
    """Nobody knows whose file it is: the one that was installed last has overwritten the other."""
    for name in ("onnxruntime", "onnxruntime-gpu"):
        install(tmp_path, name, "onnxruntime/__init__.py")
    file = tmp_path / "onnxruntime" / "__init__.py"
    assert distributions_of(file) == ("onnxruntime", "onnxruntime-gpu")


def test_a_package_of_another_name_is_found_too(tmp_path: Path) -> None:
    install(tmp_path, "onnxruntime-extensions", "onnxruntime_extensions/__init__.py")
    install(tmp_path, "ort-nightly", "onnxruntime/__init__.py")
    file = tmp_path / "onnxruntime" / "__init__.py"
    assert distributions_of(file) == ("ort-nightly",)
    assert distributions_of(tmp_path / "mine.py") == ()
