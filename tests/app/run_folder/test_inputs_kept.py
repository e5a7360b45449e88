"""`--save-inputs`: what a model was fed, copied by a parent that never holds it."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np

from app.run_folder.folder import write_inputs
from exporters.types import Reference, save_reference


def test_inputs_are_copied_a_part_at_a_time(tmp_path: Path) -> None:
    large = np.arange(4 * 2**20, dtype=np.float64)
    source = tmp_path / "stored.npz"
    save_reference(str(source), Reference({"x": large, "a/b": np.ones(3)}, {"y": large}))
    tracemalloc.start()
    with (tmp_path / "kept.npz").open("wb") as file:
        write_inputs(source, file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < large.nbytes // 4
    with np.load(tmp_path / "kept.npz") as copy:
        assert set(copy.files) == {"x", "a/b"}
        assert np.array_equal(copy["x"], large)
