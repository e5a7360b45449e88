"""ONNX's own node tests, each taken as a user's file: whatever fails is known, with its cause."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.exporters import backend_nodes

pytestmark = pytest.mark.rare
_NO_WINDOW = "ONNX Runtime's Attention has no window attributes"
_NO_LAYOUT = "ONNX Runtime's recurrent kernels know no layout=1"
_RANDOM = "the outputs are random"
_ALIGN_CORNERS = "ONNX Runtime resizes differently with align_corners"
_MASK_VALUE = "ONNX Runtime writes the lowest float for masked products where ONNX says -inf"
_SHORT_MASK = "ONNX Runtime wants a mask as long as the keys"
_UNPOOL_INDICES = "ONNX Runtime counts indices in the shape asked for, ONNX in the smaller one"

_BFLOAT16 = "ONNX Runtime's Attention adds a mask in float32 to products in bfloat16"

_LOCALE = " needs the locale en_US.UTF-8"
"""Some graphs of texts pass where it is installed, and are refused where it is not."""
KNOWN_WRONG = {
    "test_attention_4d_attn_mask_causal_bf16": _BFLOAT16,
    "test_attention_4d_causal_padded_kv_bf16": _BFLOAT16,
    "test_attention_4d_padded_kv_bf16": _BFLOAT16,
    "test_attention_3d_local_window": _NO_WINDOW,
    "test_attention_4d_diff_heads_mask4d_padded_kv": _SHORT_MASK,
    "test_attention_4d_with_past_and_present_qk_matmul_bias_3d_mask_causal": _MASK_VALUE,
    "test_attention_4d_with_past_and_present_qk_matmul_bias_4d_mask_causal": _MASK_VALUE,
    "test_attention_bidirectional_window": _NO_WINDOW,
    "test_attention_local_window": _NO_WINDOW,
    "test_attention_local_window_default": _NO_WINDOW,
    "test_attention_local_window_ext_cache_float16_mask": _NO_WINDOW,
    "test_attention_local_window_ext_cache_rank2_mask": _NO_WINDOW,
    "test_attention_local_window_ext_cache_rank3_head_mask": _NO_WINDOW,
    "test_attention_local_window_ext_cache_rank4_batch_mask": _NO_WINDOW,
    "test_attention_local_window_gqa_rank4_mask": _NO_WINDOW,
    "test_attention_local_window_rank1_boolean_mask": _NO_WINDOW,
    "test_attention_local_window_with_past": _NO_WINDOW,
    "test_averagepool_2d_ceil_last_window_starts_on_pad": "the expected values are rounded",
    "test_convinteger_with_padding": "ONNX Runtime's ConvInteger takes one zero point for all",
    "test_gru_batchwise": _NO_LAYOUT,
    "test_lstm_batchwise": _NO_LAYOUT,
    "test_maxunpool_export_with_output_shape": _UNPOOL_INDICES,
    "test_reduce_max_empty_set_bool": "ONNX Runtime does not reduce an empty set of booleans",
    "test_resize_downsample_scales_cubic_align_corners": _ALIGN_CORNERS,
    "test_resize_downsample_scales_linear_align_corners": _ALIGN_CORNERS,
    "test_simple_rnn_batchwise": _NO_LAYOUT,
    "test_training_dropout": _RANDOM,
    "test_training_dropout_default": _RANDOM,
    "test_training_dropout_default_mask": _RANDOM,
    "test_training_dropout_mask": _RANDOM,
}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, tuple[str, str]]:
    """Outcome and cause by name, from a process that must live to the end."""
    process = subprocess.run(
        [sys.executable, "-m", "tests.exporters.backend_nodes"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [json.loads(line) for line in process.stdout.splitlines()]
    last = lines[-1][0] if lines else "none"
    assert process.returncode == 0, f"it died after {last}: {process.stderr[-500:]}"
    return {name: (outcome, cause) for name, outcome, cause in lines}


def test_every_failure_has_a_known_cause(outcomes: dict[str, tuple[str, str]]) -> None:
    wrong = {n: cause for n, (outcome, cause) in outcomes.items() if outcome == backend_nodes.WRONG}
    unknown_causes = {name: cause for name, cause in wrong.items() if name not in KNOWN_WRONG}
    assert not unknown_causes
    assert KNOWN_WRONG.keys() <= wrong.keys(), "some of these pass now: take them off the list"


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
