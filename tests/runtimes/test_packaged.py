"""Runtimes of other packages are found as ours are, and a bad one costs nobody else anything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from runtimes.base import Available, Runtime, Unavailable
from runtimes.packaged import load, read
from runtimes.registry import RUNTIMES
from tests.checkout import ROOT
from tests.runtimes.packages import SOUND, installed, installed_as_told


def loaded(
    folder: Path, monkeypatch: pytest.MonkeyPatch, source: str, target: str = "{module}:Sound"
) -> Runtime:
    """The runtime `sound` of a package with this one module, which no other test imports."""
    module = f"module_of_{folder.name}"
    installed(folder, "their-package", {"sound": target.format(module=module)}, {module: source})
    monkeypatch.syspath_prepend(str(folder))
    return load(read(RUNTIMES, [str(folder)]).runtimes["sound"])


def why_not(runtime: Runtime) -> str:
    state = runtime.availability()
    assert isinstance(state, Unavailable)
    assert "pip uninstall their-package" in state.remedy
    return state.reason


def test_a_runtime_of_a_package_is_one_like_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = loaded(tmp_path, monkeypatch, SOUND)
    assert runtime.availability() == Available("7")
    assert runtime.summary == "a runtime of a package"


@pytest.mark.parametrize(
    ("source", "target", "told"),
    [
        ("import no_such_engine", "{module}:Sound", "ModuleNotFoundError: No module named"),
        ("def broken(:", "{module}:Sound", "SyntaxError"),
        ("raise SystemExit('bye')", "{module}:Sound", "SystemExit: bye"),
        (SOUND, "no_such_module:Sound", "No module named 'no_such_module'"),
        (SOUND, "{module}:Sund", "no attribute 'Sund'"),
        ("Sound = 7", "{module}:Sound", "no class made from graphlap.runtime.Runtime"),
        ("class Sound: pass", "{module}:Sound", "no class made from graphlap.runtime.Runtime"),
        (SOUND.replace("_compile", "compiled"), "{module}:Sound", "abstract method"),
        (SOUND.replace("summary", "about"), "{module}:Sound", "no attribute 'summary'"),
        (SOUND.replace('"sound"', '"round"'), "{module}:Sound", "calls itself 'round'"),
        (SOUND, "what is this", "can't be loaded"),
    ],
)
def test_one_that_can_not_be_had_is_unavailable_with_the_reason(
    source: str, target: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = why_not(loaded(tmp_path, monkeypatch, source, target))
    assert "the package their-package 1.0 brings it" in reason
    assert told in reason
    assert "\n" not in reason


def test_names_that_can_not_be_given_away_are_refused_with_a_remedy(tmp_path: Path) -> None:
    folder = installed(tmp_path, "one", {"ort-cpu": "a:A", "My.Engine": "a:A", "twice": "a:A"}, {})
    installed(folder, "other", {"twice": "b:B", "good": "b:B"}, {})
    catalogue = read(RUNTIMES, [str(folder)])
    assert list(catalogue.runtimes) == ["good"]
    assert catalogue.refused.keys() == {"ort-cpu", "My.Engine", "twice"}
    assert "one 1.0 offers" in catalogue.refused["ort-cpu"].cause
    assert "Graphlap's own" in catalogue.refused["ort-cpu"].cause
    assert {"one", "other"} <= set(catalogue.refused["twice"].cause.split())
    assert all(refusal.remedy for refusal in catalogue.refused.values())


def test_a_damaged_file_of_one_package_hides_no_other(tmp_path: Path) -> None:
    installed(tmp_path, "good", {"good": "a:A"}, {})
    installed_as_told(tmp_path, "torn", "[graphlap.runtimes]\nno equals sign\n", {})
    installed_as_told(tmp_path, "unrelated", "[console_scripts]\nno equals sign\n", {})
    catalogue = read(RUNTIMES, [str(tmp_path)])
    assert list(catalogue.runtimes) == ["good"]
    (refusal,) = catalogue.refused.values()
    assert "can't be read" in refusal.cause


def test_a_process_that_measures_a_runtime_of_ours_starts_without_looking_for_others() -> None:
    """What is installed takes milliseconds to read, which a cold start would count."""
    script = (
        "import sys\n"
        "from runtimes import registry\n"
        "registry.load('fake')\n"
        "print(*[name for name in sys.modules if name.endswith(('metadata', 'packaged'))])\n"
        "registry.names()\n"
        "print(*[name for name in sys.modules if name.endswith('packaged')])\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    modules_before, modules_after = process.stdout.splitlines()
    assert modules_before == ""
    assert modules_after
