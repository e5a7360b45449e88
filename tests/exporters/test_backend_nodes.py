"""ONNX's own node tests, each taken as a user's file: whatever fails is known, with its cause."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.exporters import backend_nodes
from tests.processes import python

pytestmark = pytest.mark.rare
_LOCALE = " needs the locale en_US.UTF-8"
"""Some graphs of texts pass where it is installed, and are refused where it is not."""
KNOWN_WRONG = {
    r"attention_4d_(attn_mask_causal|causal_padded_kv|padded_kv)_bf16":
        "ONNX Runtime's Attention adds a mask in float32 to products in bfloat16",
    r"attention_4d_diff_heads_mask4d_padded_kv": "ONNX Runtime wants a mask as long as the keys",
    r"attention_4d_with_past_and_present_qk_matmul_bias_[34]d_mask_causal":
        "ONNX Runtime writes the lowest float for masked products where ONNX says -inf",
    r"attention_(3d_)?(bidirectional|local)_window\w*(?<!_expanded)":
        "ONNX Runtime's Attention has no window attributes",
    r"averagepool_2d_ceil_last_window_starts_on_pad": "the expected values are rounded",
    r"convinteger_with_padding": "ONNX Runtime's ConvInteger takes one zero point for all",
    r"(gru|lstm|simple_rnn)_batchwise": "ONNX Runtime's recurrent kernels know no layout=1",
    r"maxunpool_export_with_output_shape":
        "ONNX Runtime counts indices in the shape asked for, ONNX in the smaller one",
    r"reduce_max_empty_set_bool": "ONNX Runtime does not reduce an empty set of booleans",
    r"resize_downsample_scales_(cubic|linear)_align_corners":
        "ONNX Runtime resizes differently with align_corners",
    r"training_dropout(_default)?(_mask)?": "the outputs are random",
}  # fmt: skip
"""What is wrong of each test whose name is so, and why."""


@pytest.fixture(scope="module")
def outcomes() -> dict[str, tuple[str, str]]:
    """Outcome and cause by name, from a process that must live to the end."""
    process = python("-m", "tests.exporters.backend_nodes", cwd=ROOT)
    lines = [json.loads(line) for line in process.stdout.splitlines()]
    last = lines[-1][0] if lines else "none"
    assert process.returncode == 0, f"it died after {last}: {process.stderr[-500:]}"
    return {name: (outcome, cause) for name, outcome, cause in lines}


def test_every_failure_has_a_known_cause(outcomes: dict[str, tuple[str, str]]) -> None:
    wrong = {n: cause for n, (outcome, cause) in outcomes.items() if outcome == backend_nodes.WRONG}
    pattern = re.compile(f"test_({'|'.join(KNOWN_WRONG)})")
    known_names = set(filter(pattern.fullmatch, outcomes))
    assert not {name: cause for name, cause in wrong.items() if name not in known_names}
    assert known_names <= wrong.keys(), "some of these pass now: take them off the list"


def test_a_refusal_says_what_was_met_and_what_to_do(outcomes: dict[str, tuple[str, str]]) -> None:
    for name, (outcome, cause) in outcomes.items():
        if outcome != backend_nodes.PASSED:
            assert re.fullmatch(r".+: .+", cause, re.DOTALL), (name, cause)
        if outcome == backend_nodes.NOT_BENCHMARKABLE:
            assert re.search(rf" holds | is of kind |{_LOCALE}", cause), (name, cause)


def test_the_published_table_is_what_happens(outcomes: dict[str, tuple[str, str]]) -> None:
    text = Path(ROOT / "exporters" / "README.md").read_text("utf-8")
    published_rows = {
        outcome: int(count)
        for outcome, count in re.findall(r"^\| ([a-z ]+?) \| (\d+) \|", text, re.MULTILINE)
    }
    of_any_machine = [
        outcome
        for name, (outcome, _) in outcomes.items()
        if not name.startswith("test_strnormalizer_export_monday")
    ]
    assert published_rows == Counter(of_any_machine)
