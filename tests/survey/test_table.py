"""The page of the survey tells each reason once, and nothing of the machine that made it."""

from __future__ import annotations

from tests.survey import right
from tests.survey.table import RUNTIMES, Network, networks, page

LINES = """\
a/net	fp32	ort-cpu	1200	ok	onnx	off by 1e-07
a/net	fp32	openvino-cpu	1200	refused		no node of a-net.onnx runs
a/net	fp16	ort-cpu	1200	ok	onnx	nothing of y is compared: empty
a/net	fp16	openvino-cpu	1200	wrong		off by 2
a/net	bf16	ort-cpu		refused		no kernel
a/net	bf16	openvino-cpu		refused		no kernel
a/net	int8	ort-cpu		refused		no kernel
a/net	int8	openvino-cpu		refused		no kernel
b/net	fp32	ort-cpu		ok		off by 0
"""
OK = {"status": "ok", "reason": ""}


def line_of(text: str, name: str) -> str:
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {name} |")]
    return line


def test_there_are_thirty_architectures_and_estimators_of_both_kinds() -> None:
    sources = [network.source for network in networks()]
    assert {"transformers", "torchvision", "timm", "scikit-learn", "xgboost"} == set(sources)
    assert sum(source in ("transformers", "torchvision", "timm") for source in sources) >= 30
    names = [network.name for network in networks()]
    assert len(set(names)) == len(names)


def test_a_reason_is_told_once_and_without_folders() -> None:
    refused_row = {
        "status": "partial",
        "reason": "node 'a|b' of /home/me/nets/x.onnx\nis elsewhere",
    }
    rows = {"ort-cpu": OK, "fpga:v80": refused_row}
    text = page([(Network("one", "timm"), rows), (Network("two", "timm"), rows)])
    assert "/home" not in text
    assert text.count("of x.onnx is elsewhere") == 1
    for name in ("one", "two"):
        line = line_of(text, name)
        assert line.startswith(f"| {name} | timm | ok | not run | not run | partial [1]")
        assert line.count("|") == len(RUNTIMES) + 3


def test_pairs_are_counted_and_only_independent_support_counts() -> None:
    lines = LINES.splitlines()
    rest = [line.replace("a/net", "b/net") for line in lines[1:8]]
    text = right.page([*lines, *rest], "torch 1")
    assert "Of 2 files, 1 are ok on ort-cpu with an independent reference, 1 of these" in text
    assert "Of 6 pairs:" in text
    assert "- fp16: 4 pairs, 2 wrong" in text
    row = line_of(text, "a/net")
    assert row.startswith("| a/net | 1,200 | onnx | ok | refused [1]")
    assert row.count("[4]") == 2  # once for each precision, as both engines refuse alike
    assert "1. no node of the file runs" in text
