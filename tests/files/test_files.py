"""Every kind of file that ONNX Runtime opens is measured on ort-cpu, with checked outputs."""

from __future__ import annotations

from tests.files.all_kinds import KINDS

NOT_MEASURED = {
    "attribute-unknown": "export_failed",  # ONNX Runtime refuses it too
    "ends-bfloat16": "unsupported",
    "ends-float8": "unsupported",
    "ends-int4": "unsupported",
}
"""With the status of their rows: numpy has no arrays for the last three."""


def test_no_kind_is_missing_and_most_are_measured() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS) >= 80
    assert NOT_MEASURED.keys() <= {kind.name for kind in KINDS}
    assert len(NOT_MEASURED) <= 5
