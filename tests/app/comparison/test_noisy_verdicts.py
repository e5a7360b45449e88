"""Five rounds name the fastest of runtimes that are three times apart on a noisy machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.cases.case import Case
from app.columns.rows import Rows
from app.comparison.ranking import fastest
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from app.sweep.scheduling.round_budget import SUFFICIENT_ROUNDS
from tests.app.run_folder.runs import ENVIRONMENT, manifest_of, record

MODELS = 5
RUNTIMES = ("ort-cpu", "openvino-cpu", "torch-cpu")
NOISE = 0.3
"""Standard deviation of the logarithm of a round's level."""


@pytest.mark.parametrize(("ratio", "is_decided"), [(3.0, True), (1.0, False)])
def test_a_winner_is_named_where_runtimes_are_apart(
    tmp_path: Path, ratio: float, is_decided: bool
) -> None:
    draw = np.random.RandomState(29)
    cases = [Case(f"network_{m}", runtime) for m in range(MODELS) for runtime in RUNTIMES]
    with RunFolder.create(tmp_path / "run", manifest_of(cases, SUFFICIENT_ROUNDS)) as folder:
        folder.begin(ENVIRONMENT)
        for number in range(SUFFICIENT_ROUNDS):
            for case in cases:
                level = 100.0 * (1.0 if case.runtime == RUNTIMES[0] else ratio)
                level *= np.exp(NOISE * draw.standard_normal())
                runs = level * (1.0 + 0.05 * np.abs(draw.standard_normal(200)))
                record(folder, case, number, runs.tolist())
    contests = fastest(Rows().measured(read_run(tmp_path / "run")), band=0.02)
    assert [contest.parted for contest in contests] == [is_decided] * MODELS
    if is_decided:
        assert {contest.first for contest in contests} == {RUNTIMES[0]}
