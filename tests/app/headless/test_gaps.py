"""A sweep over gaps ends with how latency grew, and with a picture of it where one is asked for."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.app.headless.batch import FAKE, run


@pytest.mark.rare
def test_what_a_pause_costs_is_told_and_drawn(work: Path) -> None:
    """The scripted engine takes half a millisecond longer after more than 5 ms."""
    script = ("--option", "fake.latency_us=50", "--option", "fake.after_pause_us=500")
    arguments = ("--headless", "--models", "add.onnx", *FAKE, *script, "--rounds", "1")
    flags = ("--idle-sweep", "2ms..20ms", "--plot", "gaps.svg", "--out", "run")
    code, out, errors = run(*arguments, *flags)
    assert code == 0, errors
    assert "latency after a pause: add" in out
    lines = (line.split() for line in out.split("latency after a pause")[1].splitlines())
    p50_us = {" ".join(words[:2]): words[2] for words in lines if words[1:2] == ["ms"]}
    assert list(p50_us) == ["2.00 ms", "5.00 ms", "10.0 ms", "20.0 ms"]
    assert float(p50_us["20.0 ms"]) >= 550
    picture = ElementTree.parse(work / "gaps.svg").getroot()
    assert list(picture.iter("{http://www.w3.org/2000/svg}polyline"))


def test_a_picture_of_no_gaps_is_refused_before_anything_is_written(work: Path) -> None:
    code, _, errors = run("--headless", "--models", "add.onnx", *FAKE, "--plot", "x.svg")
    assert code == 2
    assert "the plan has fewer than three: add --idle-sweep 20us..1s" in errors
    assert not (work / "graphlap-results").exists()
