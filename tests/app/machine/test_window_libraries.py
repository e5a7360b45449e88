"""Every library that Qt is linked against has a package, and missing ones are named."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from app.cli import open
from app.cli.open import PACKAGES, missing_packages

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="packages of Debian")
_SYSTEM_LIBRARIES = re.compile(r"(libQt6|libstdc|libgcc|libm\.|libc\.|libz\.|libgthread)")


@pytest.mark.skipif(shutil.which("readelf") is None, reason="needs binutils")
def test_every_library_of_qt_has_a_package() -> None:
    spec = find_spec("PySide6")
    if spec is None or spec.origin is None:
        pytest.skip("needs PySide6")
    qt = Path(spec.origin).with_name("Qt")
    files = (
        "plugins/platforms/libqxcb.so",
        "lib/libQt6XcbQpa.so.6",
        "plugins/platforms/libqwayland.so",
        "lib/libQt6WaylandClient.so.6",
        "lib/libQt6Gui.so.6",
    )
    libraries: set[str] = set()
    for file in files:
        command = ["readelf", "-d", str(qt / file)]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        libraries |= set(re.findall(r"NEEDED.*\[(.+)\]", text))
    assert len(libraries) > 20
    assert {name for name in libraries if not _SYSTEM_LIBRARIES.match(name)} == set(PACKAGES)


@pytest.mark.parametrize(("platform", "display"), [("wayland", ""), ("", "wayland-0")])
def test_a_window_on_wayland_needs_its_libraries_and_none_of_x11(
    monkeypatch: pytest.MonkeyPatch, platform: str, display: str
) -> None:
    monkeypatch.setattr(open, "_can_load", lambda _library: False)
    monkeypatch.setenv("QT_QPA_PLATFORM", platform)
    monkeypatch.setenv("WAYLAND_DISPLAY", display)
    monkeypatch.delenv("DISPLAY", raising=False)
    lacking = missing_packages()
    assert lacking["libwayland-client.so.0"] == "libwayland-client0"
    assert not any("xcb" in library for library in lacking)


def test_the_program_names_the_packages_that_are_missing() -> None:
    code = (
        "import sys\n"
        "from app.cli import open as w\n"
        "w.PACKAGES = {**w.PACKAGES, 'libgraphlap-none.so.9': 'libgraphlap-none9'}\n"
        "from app.cli.main import main\n"
        "sys.exit(main(['open']))\n"
    )
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "QT_QPA_PLATFORM": "xcb", "DISPLAY": ":971"}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "libgraphlap-none9" in result.stderr
    assert "Traceback" not in result.stderr
