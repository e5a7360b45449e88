"""The interval between processes: Student's t on the logarithms."""

import numpy as np
import pytest

from app.stats.between import interval_between


def test_interval_between_rounds_covers_the_estimate_and_needs_three() -> None:
    assert interval_between(10.0, np.array([9.5, 10.0])) is None
    interval = interval_between(10.0, np.array([9.5, 10.0, 10.5]))
    assert interval is not None
    # t(2, 97.5 %) = 4.303; s of the logs = 0.0500; 10 exp(+-4.303 * 0.0500 / sqrt(3))
    assert interval.low == pytest.approx(8.83, abs=0.01)
    assert interval.high == pytest.approx(11.32, abs=0.01)
