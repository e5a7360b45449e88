"""The kit for a machine without a network: unpacked in an empty folder, it finds its own engine."""

from __future__ import annotations

import ctypes
import json
import os
import struct
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.gpu.kit import contents, fatbin
from tests.gpu.kit.contents import BASE, ENGINE, ENGINE_MODULE, SITE, SOURCE
from tests.gpu.kit.fatbin import CUBIN, PTX, Entry, NotReadable
from tests.gpu.kit.parts import RESERVE_BYTES, write_parts

PART_BYTES = 2**20
RELEASE = f"{sys.version_info[0]}.{sys.version_info[1]}"
ORIGINS = f"""
import json, subprocess, sys
from exporters import install_layout
from tests.gpu.kit import environment_check
import {ENGINE_MODULE}
import decoy_only_package
child = subprocess.run(
    install_layout.command(environment_check.MODULE),
    env=install_layout.child_environment(), capture_output=True, text=True, check=True,
)
timed = install_layout.extension("runtimes.calls._timed")
print(json.dumps([{ENGINE_MODULE}.__file__, child.stdout.strip(), str(timed), sys.prefix]))
raise SystemExit(7)
"""


def interpreters() -> Iterator[tuple[str, Path]]:
    """Each CPython of this machine that a kit may be for, by its release."""
    places = [Path(folder) for folder in os.environ["PATH"].split(os.pathsep)]
    places += sorted((Path.home() / ".pyenv" / "versions").glob("*/bin"))
    pythons = {RELEASE: Path(sys.executable)}
    for minor in range(12, 16):
        for place in places:
            path = place / f"python3.{minor}"
            if path.is_file() and f"3.{minor}" not in pythons and _starts(path):
                pythons[f"3.{minor}"] = path
    yield from pythons.items()


def _starts(python: Path) -> bool:
    """A launcher of pyenv lies in PATH for releases that it may not start."""
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


INTERPRETERS = [
    pytest.param(release, path, id=release, marks=[] if release == RELEASE else [pytest.mark.rare])
    for release, path in interpreters()
]


def decoy_environment(python: Path, folder: Path) -> Path:
    """A Python whose site-packages has an engine, and packages called like ours."""
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    for name in (ENGINE_MODULE, "app", "tests", "runtimes", "decoy_only_package"):
        (site / name).mkdir()
        (site / name / "__init__.py").write_text("")
    return folder / "bin" / "python"


def write_kit(work: Path, out: Path, release: str) -> None:
    """Our sources, and an engine of one file, as parts."""
    contents.copy_sources(work / BASE / SOURCE)
    engine = work / ENGINE / SITE / ENGINE_MODULE
    engine.mkdir(parents=True)
    (engine / "__init__.py").write_text("")
    (engine / "library.so").write_bytes(os.urandom(PART_BYTES))
    write_parts([work / BASE, work / ENGINE], out, release, PART_BYTES)


def start(
    python: Path, part: Path, home: Path, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """As on another machine: none of this process's packages, another engine on PYTHONPATH."""
    other = home.parent / "other" / ENGINE_MODULE
    other.mkdir(parents=True, exist_ok=True)
    (other / "__init__.py").write_text("")
    variables = {
        "PATH": os.environ["PATH"],
        "KIT_FOLDER": str(home),
        "PYTHONPATH": str(other.parent),
    }
    return subprocess.run(
        [python, part / "start.py", *arguments],
        cwd=part,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("release", "python"), INTERPRETERS)
def test_parent_and_child_find_the_engine_of_the_kit(
    release: str, python: Path, tmp_path: Path
) -> None:
    out, home = tmp_path / "out", tmp_path / "home"
    write_kit(tmp_path / "work", out, release)
    parts = sorted(out.iterdir())
    assert len(parts) > 2
    assert all(sum(f.stat().st_size for f in p.iterdir()) <= PART_BYTES for p in parts)
    decoy_python = decoy_environment(python, tmp_path / "decoy")
    # The parts arrive one after another, and an earlier one is gone when a later one comes.
    codes = []
    for part in parts:
        machine = tmp_path / "machine"
        part.rename(machine)
        process = start(decoy_python, machine, home, "-c", ORIGINS)
        codes.append(process.returncode)
        machine.rename(part)
    assert codes[0] == 3 and codes[-1] == 7, process.stderr
    engine, engine_of_child, extension, prefix = json.loads(process.stdout.splitlines()[-1])
    assert engine == engine_of_child == str(home / ENGINE / SITE / ENGINE_MODULE / "__init__.py")
    assert Path(extension).is_relative_to(home)
    assert Path(prefix).is_relative_to(home)


def test_a_damaged_part_and_another_python_are_refused(tmp_path: Path) -> None:
    out, home = tmp_path / "out", tmp_path / "home"
    (tmp_path / BASE).mkdir()
    (tmp_path / BASE / "file").write_bytes(b"content")
    write_parts([tmp_path / BASE], out, RELEASE, PART_BYTES)
    (piece,) = out.glob("part-1/base.xz.1")
    data = bytearray(piece.read_bytes())
    data[len(data) // 2] ^= 1
    piece.write_bytes(data)
    process = start(Path(sys.executable), out / "part-1", home)
    assert process.returncode == 1 and piece.name in process.stderr
    assert not (home / BASE).exists()
    manifest = out / "part-1" / "manifest.json"
    manifest.write_text(manifest.read_text().replace(f'"{RELEASE}"', '"3.0"'))
    process = start(Path(sys.executable), out / "part-1", home)
    assert process.returncode == 1 and "3.0" in process.stderr


def wheel(folder: Path, name: str, version: str, module: str, tag: str) -> None:
    """An installable package of one empty module."""
    folder.mkdir(exist_ok=True)
    base = f"{name.replace('-', '_')}-{version}"
    with zipfile.ZipFile(folder / f"{base}-{tag}.whl", "w") as file:
        file.writestr(f"{module}/__init__.py", "")
        info = f"{base}.dist-info"
        file.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        file.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n")
        file.writestr(f"{info}/RECORD", "")


@pytest.mark.rare
def test_the_command_takes_packages_for_the_other_python(tmp_path: Path) -> None:
    """From a folder of wheels in the place of an index; what is there already is left out."""
    pins = dict(
        line.split("==") for line in (ROOT / "constraints.txt").read_text().split() if "==" in line
    )
    wheels, out = tmp_path / "wheels", tmp_path / "out"
    names = ["numpy", "onnx", "platformdirs", "psutil", "pydantic", "rich", "scipy", "shtab"]
    names.append("nvidia-ml-py")
    for name in names:
        wheel(wheels, name, pins[name], name.replace("-", "_"), "py3-none-any")
    tag = "cp312-cp312-manylinux_2_28_x86_64"
    wheel(wheels, "onnxruntime-gpu", pins["onnxruntime-gpu"], ENGINE_MODULE, tag)
    command = [sys.executable, "-m", "tests.gpu.kit", "--out", str(out), "--present", "Numpy,scipy"]
    variables = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}

    def run(release: str) -> int:
        process = subprocess.run(
            [*command, "--python", release], cwd=ROOT, env=variables, check=False
        )
        return process.returncode

    assert run("3.13") == 1, "there is no engine for it"
    assert run("3.12") == 0
    assert run("3.12") == 2, "the folder is not empty"
    python = dict(interpreters()).get("3.12")
    if python is None:
        pytest.skip("no CPython 3.12 is installed")
    names_there = (
        "import importlib.metadata as m; print(*sorted(d.name for d in m.distributions()))"
    )
    process = start(python, out / "part-1", tmp_path / "home", "-c", names_there)
    assert process.returncode == 0, process.stderr
    installed_names = set(process.stdout.splitlines()[-1].split())
    assert {"onnx", "onnxruntime-gpu", "nvidia-ml-py"} <= installed_names
    assert not {"numpy", "scipy"} & installed_names


def container(*codes: tuple[int, int, bytes]) -> bytes:
    """A container of GPU code with an entry for each kind, architecture and payload."""
    entries = b""
    for kind, arch, payload in codes:
        size = 64
        entries += struct.pack("<HHIQ12xI32x", kind, 0x101, size, len(payload), arch) + payload
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries


def library_with(section: bytes, folder: Path) -> Path:
    data, source, library = folder / "section", folder / "library.c", folder / "library.so"
    data.write_bytes(section)
    source.write_text(
        "int answer(void) { return 42; }\n"
        f'__asm__(".section .nv_fatbin,\\"a\\"\\n.incbin \\"{data}\\"\\n.previous");\n'
    )
    compiler = sysconfig.get_config_var("CC").split()[0]
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    return library


def test_code_of_other_architectures_is_cleared_and_the_library_loads(tmp_path: Path) -> None:
    hopper, ampere, blackwell, text = b"h" * 40, b"a" * 24, b"b" * 16, b"p" * 8
    section = (
        container((CUBIN, 80, ampere), (CUBIN, 90, hopper), (CUBIN, 120, blackwell))
        + container((CUBIN, 120, blackwell))
        + container((CUBIN, 80, ampere), (PTX, 80, text))
    )
    library = library_with(section, tmp_path)
    original = library.read_bytes()
    reduction = fatbin.reduce(library, 90)
    result = library.read_bytes()
    assert reduction.kept_bytes == len(hopper) + len(text)
    assert reduction.cleared_bytes == 2 * len(ampere) + 2 * len(blackwell)
    assert len(result) == len(original)
    with library.open("rb") as file:
        left = [
            (entry.kind, entry.arch)
            for entry in fatbin.read_entries(file)
            if any(result[entry.payload : entry.payload + entry.size])
        ]
    assert left == [(CUBIN, 90), (PTX, 80)]
    offsets = [n for n, (a, b) in enumerate(zip(original, result, strict=True)) if a != b]
    assert len(offsets) == reduction.cleared_bytes
    assert ctypes.CDLL(str(library)).answer() == 42


def test_code_of_an_older_gpu_of_the_generation_is_kept() -> None:
    entries = [Entry(0, CUBIN, arch, 0, 8) for arch in (75, 80, 86, 89, 90)]
    assert [entry.arch for entry in fatbin.usable(entries, 87)] == [86]


def test_another_layout_is_refused(tmp_path: Path) -> None:
    library = library_with(b"no container" * 4, tmp_path)
    with pytest.raises(NotReadable):
        fatbin.reduce(library, 90)
    text = tmp_path / "text.so"
    text.write_text("no library")
    assert fatbin.reduce(text, 90).cleared_bytes == 0


def test_a_part_has_room_for_the_start_file() -> None:
    folder = ROOT / "tests" / "gpu" / "kit"
    assert (folder / "start.py").stat().st_size < RESERVE_BYTES / 2
