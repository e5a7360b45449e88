from collections.abc import Sequence
from pathlib import Path

import numpy as np

from app.cases.round import RECORD
from app.runs.following.samples import SampleTail
from app.stats.quantiles import Histogram
from tests.app.gui.runs import records


def _bins(latencies_us: Sequence[float]) -> np.ndarray:
    histogram = Histogram()
    histogram.add((np.asarray(latencies_us) * 1e3).astype(np.int64))
    return histogram.counts


def test_only_what_was_added_is_read_and_a_torn_record_waits(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    data = records([10.0, 20.0, 30.0]).tobytes()
    path.write_bytes(data[: 2 * RECORD.itemsize + 5])
    tail = SampleTail(path)
    assert tail.poll()
    assert tail.records == 2
    path.write_bytes(data)
    assert tail.poll()
    assert not tail.poll()
    assert tail.records == 3
    np.testing.assert_array_equal(tail.counts, _bins([10.0, 20.0, 30.0]))


def test_warm_up_is_mapped_but_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(records([100.0, 10.0, 10.0], warmup=1).tobytes())
    tail = SampleTail(path)
    tail.poll()
    assert tail.counts.sum() == 2
    assert len(tail.map()) == 3


def test_a_round_that_is_measured_again_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(records([10.0] * 5).tobytes())
    tail = SampleTail(path)
    tail.poll()
    path.unlink()
    again = records([70.0] * 6)
    again["started_ns"] += 1_000_000
    again["finished_ns"] += 1_000_000
    path.write_bytes(again.tobytes())
    tail.poll()
    np.testing.assert_array_equal(tail.counts, _bins([70.0] * 6))


def test_a_file_that_vanishes_counts_as_empty(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(records([10.0]).tobytes())
    tail = SampleTail(path)
    tail.poll()
    path.unlink()
    assert tail.poll()
    assert tail.counts.sum() == 0
    assert len(tail.map()) == 0


def test_a_long_file_is_read_over_several_looks(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(records(np.full(300_000, 5.0)).tobytes())
    tail = SampleTail(path)
    tail.poll(chunks=1)
    assert 0 < tail.records < 300_000
    while tail.poll(chunks=1):
        pass
    assert tail.counts.sum() == 300_000
