"""A run of the batch mode over a folder of mutants, and what it has to leave behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

from app.__main__ import main
from app.cases.round import Limits
from app.formatting.text import storable
from app.plan.plan import Lengths, named_lengths
from app.run_folder.manifest import read_manifest
from tests.app.cli.headless.batch import rows

MOMENT = Lengths(
    1, 60.0, Limits(0.05, 0.5, 20, warmup_min_s=0.0, warmup_max_s=0.1, warmup_min_iterations=2)
)


def measured(paths: Sequence[Path], out: Path, runtimes: str) -> Counter[str]:
    """How many rows ended how; AssertionError unless each file has its row, with a reason.

    The parent is this process, so that an error of it is this function's.
    """
    pattern = str(paths[0].parent / "*.onnx")
    with patch.dict(named_lengths(), {"quick": MOMENT}):
        code = main(
            [
                *("--headless", "--models", pattern, "--runtimes", runtimes, "--batch", "2"),
                *("--time-limit", "40", "--out", str(out)),
            ]
        )
    assert code in (0, 1)
    run_rows = rows(out)
    cases = read_manifest(out).cases
    assert {case.model for case in cases} == set(map(str, paths)), "a file has no case"
    assert [row["case_id"] for row in run_rows] == [case.case_id for case in cases]
    for row in run_rows:
        assert row["status"] in ("ok", "partial") or row["reason"], row["model"]
        assert row["reason"].isprintable()
    assert {row["model"] for row in run_rows} == {storable(str(path)) for path in paths}
    return Counter(row["status"] for row in run_rows)
