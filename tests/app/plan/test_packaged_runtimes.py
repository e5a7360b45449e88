"""Runtimes of other packages in plans and lists: named as ours are, and none stops the others."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from app.cases.errors import PlanError
from app.machine.installed_runtimes import asked, available_names
from app.plan.expand import expand
from app.plan.plan import Plan
from app.plan.settings.sweep import Sweep
from app.present import terminal
from app.present.console.catalogue import models_blocks, models_of
from app.present.console.doctor import doctor
from runtimes import registry
from runtimes.base import Available, Unavailable
from runtimes.inquiries import probe
from runtimes.packaged import read
from tests.environments import make_environment
from tests.runtimes.packages import SOUND, installed

ASKED_IN_VAIN = SOUND.replace('return Available("7")', "raise OSError('no licence server')")


@pytest.fixture(autouse=True)
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is sound, one that can't be imported, one that fails when it is asked."""
    points = {"sound": "a_sound_runtime:Sound", "ort-cpu": "a_sound_runtime:Sound"}
    installed(tmp_path, "one", points, {"a_sound_runtime": SOUND})
    installed(tmp_path, "two", {"torn": "a_torn_runtime:Sound"}, {"a_torn_runtime": "import nix"})
    source = ASKED_IN_VAIN.replace('"sound"', '"unlicensed"')
    points = {"unlicensed": "an_unlicensed_runtime:Sound", "No.Name": "nothing:Nothing"}
    installed(tmp_path, "three", points, {"an_unlicensed_runtime": source})
    monkeypatch.syspath_prepend(str(tmp_path))
    packages_read = read(registry.RUNTIMES, [str(tmp_path)])
    monkeypatch.setattr(registry, "_offered", lambda: packages_read)


def planned(*runtimes: str) -> list[str]:
    sweep = Sweep(models=("mlp",), runtimes=runtimes)
    return [case.runtime for case in expand(Plan(sweeps=(sweep,)))]


def test_a_plan_names_them_and_lists_have_those_that_are_sound() -> None:
    assert planned("sound", "torn", "fake") == ["sound", "torn", "fake"]
    assert "sound" in terminal.as_text(models_blocks(models_of(None)), 80)
    names = set(available_names())
    assert {"sound", "ort-cpu"} <= names and not {"torn", "unlicensed"} & names


def test_a_name_that_was_refused_tells_the_reason() -> None:
    with pytest.raises(PlanError, match=r"three 1\.0 offers a runtime called 'No.Name'"):
        planned("No.Name")
    assert planned("ort-cpu") == ["ort-cpu"]


def test_the_doctor_tells_a_broken_package_and_what_was_passed_over(tmp_path: Path) -> None:
    entry = probe("torn")
    assert entry["version"] == "1.0", "so that it counts as broken, not as missing"
    assert "two 1.0" in entry["reason"]
    stand_in = tmp_path / "probe.py"
    stand_in.write_text('print(\'{"version": "7"}\')')
    report = terminal.as_text(doctor((sys.executable, str(stand_in))).blocks, 400)
    assert "\nsound " in report
    unnameable, duplicate = [line for line in report.splitlines() if "passed over" in line]
    assert "'No.Name', which no plan can name; " in unnameable
    assert "'ort-cpu', which is one of Graphlap's own; " in duplicate


def test_another_environment_has_those_that_are_installed_there(tmp_path: Path) -> None:
    python = make_environment(tmp_path / "environment", "numpy")
    (site,) = (tmp_path / "environment").glob("lib/python*/site-packages")
    installed(site, "one", {"sound": "a_sound_runtime:Sound"}, {"a_sound_runtime": SOUND})
    runtimes = asked("other", str(python)).runtimes
    assert runtimes["sound"].availability == Available("7")
    absent = runtimes["unlicensed"].availability
    assert isinstance(absent, Unavailable)
    assert "there is no runtime called 'unlicensed'" in absent.reason
