"""Folders of runs made by hand, one for each night, so that what a history must find is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from app.analysis.columns.rows import Rows
from app.analysis.columns.tables import write_tables
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from tests.app.run_folder.runs import CASE, ENVIRONMENT, OTHER, manifest_of, record


def night_at(
    path: Path,
    number: int,
    factor: float = 1.0,
    environment: Mapping[str, Any] = {},
    runs: int = 400,
) -> Path:
    """A run of three rounds of CASE at 100 us times the factor, and of OTHER at 200 us.

    Levels differ by 0.3 % from night to night.
    """
    rng = np.random.default_rng(number)
    manifest = replace(
        manifest_of((CASE, OTHER), 3),
        environment={**ENVIRONMENT, "cpu": "a processor", **environment},
        created_at_utc=f"2026-03-{number + 1:02}T02:00:00.000+00:00",
    )
    with RunFolder.create(path, manifest) as folder:
        folder.begin(manifest.environment)
        for case, level in ((CASE, 100.0 * factor), (OTHER, 200.0)):
            base_us = level * np.exp(0.003 * rng.standard_normal())
            for index in range(3):
                latency_us = base_us * np.exp(0.02 * rng.standard_normal(runs))
                record(folder, case, index, latency_us.round(3).tolist())
        write_tables(folder, Rows().of(read_run(path)))
    return path


def nights_at(folder: Path, factors: Sequence[float], **environment: Any) -> list[Path]:
    """One run after another; those that are slower are so from some engine's release on."""
    return [
        night_at(
            folder / f"{number // 7}" / f"night-{number}",
            number,
            factor,
            {"packages": {"onnxruntime": "1.30" if factor == 1.0 else "1.31"}, **environment},
        )
        for number, factor in enumerate(factors)
    ]
