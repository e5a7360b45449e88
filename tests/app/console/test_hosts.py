"""`--doctor --cluster`: what each host has and lacks, and what of it is not as it is here."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from app.__main__ import main
from app.remote.ssh import COMMAND_VARIABLE
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
