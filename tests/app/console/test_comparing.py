"""What the end of a run says of its comparison, on a terminal of eighty columns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from app.cases.case import Case
from app.columns.rows import Rows
from app.console.answer.document import run_document
from app.console.answer.summary import run_result
from app.console.run_comparison import Comparer
from app.present.terminal import as_lines
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from tests.app.run_folder.runs import ENVIRONMENT, manifest_of, record


def test_verdicts_stand_under_the_table_and_break_no_line(tmp_path: Path) -> None:
    cases = [
        Case("/nets/a_graph_with_quite_a_long_name.onnx", runtime, axes={"batch": batch})
        for batch in (1, 64)
        for runtime in ("ort-cpu", "openvino-cpu")
    ]
    manifest = manifest_of(cases, 4)
    manifest = replace(manifest, plan={**manifest.plan, "baseline": "ort-cpu"})
    with RunFolder.create(tmp_path / "run", manifest) as folder:
        folder.begin(ENVIRONMENT)
        for case in cases:
            slower = 1.3 if case.runtime == "openvino-cpu" else 1.0
            for number in range(4):
                record(folder, case, number, [slower * (100.0 + number)] * 600)
    run = read_run(tmp_path / "run")
    results = Rows().measured(run)
    comparison = Comparer().outcome_of(run, results)
    assert comparison is not None and comparison.code == 0, "nobody asked to fail"
    blocks = run_document(run_result(run, results, comparison), 80)
    # A command with a path is never broken.
    lines = [line for line in as_lines(blocks, 80) if str(tmp_path) not in line]
    assert max(map(len, lines)) <= 80
    words = " ".join(" ".join(lines).split())
    assert "against ort-cpu, round by round" in words
    assert sum("p50" in line and "1.300x" in line and "slower" in line for line in lines) == 2
