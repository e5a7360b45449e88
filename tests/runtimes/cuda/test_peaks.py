"""A GPU's own peaks, over the driver's stand-in, which has an H100's figures."""

from __future__ import annotations

import pytest

from runtimes.cuda import peaks
from runtimes.onnxruntime.gpu_runtimes import OrtCuda
from runtimes.onnxruntime.runtime import OrtCpu
from tests.runtimes.stand_ins.fixtures import Driver


@pytest.mark.parametrize(
    ("precision", "tera_flop_per_s"),
    # The data sheet's dense figures at 1830 MHz; fp32 at the highest clock, 1980 MHz.
    [("fp32", 67.0), ("tf32", 494 * 1980 / 1830), ("bf16", 989 * 1980 / 1830)],
)
def test_the_peak_is_the_precisions(driver: Driver, precision: str, tera_flop_per_s: float) -> None:
    peak = OrtCuda().device_peak("0", precision)
    assert peak is not None
    assert peak.flops_per_s == pytest.approx(tera_flop_per_s * 1e12, rel=0.01)
    assert peak.bytes_per_s == pytest.approx(3.35e12, rel=0.01)
    assert "Stand-in GPU" in peak.how


def test_what_is_not_known_has_no_peak(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    assert OrtCuda().device_peak("0", "int8+fp16") is None
    assert OrtCpu().device_peak("", "fp32") is None
    monkeypatch.setattr(peaks, "_BY_CAPABILITY", {})
    assert OrtCuda().device_peak("0", "fp32") is None
