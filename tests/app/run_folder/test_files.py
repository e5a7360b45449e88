"""Files of a run at their edges: drafts, links, short tables and records with lanes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from app.analysis.columns.tables import rows_of
from app.cases.errors import ResultsError
from app.cases.jobs import Operator, OperatorTimes
from app.cases.round import RECORD
from app.run_folder.files import is_path, remove_drafts, replacing, write_atomically
from app.run_folder.folder import reject_links
from app.run_folder.operators import operators_csv
from app.run_folder.run import as_samples, records_of
from app.run_folder.statistics_store import file_states
from app.run_folder.table import read_rounds


def test_what_can_name_a_file() -> None:
    assert is_path("a") and is_path(Path("a"))
    assert not any(map(is_path, (3, None, "a\0b")))


def test_what_a_killed_writer_left_is_replaced_and_a_link_never_followed(tmp_path: Path) -> None:
    path, target = tmp_path / "t.csv", tmp_path / "target"
    target.write_text("kept")
    draft = tmp_path / f".t.csv.{os.getpid()}"
    draft.symlink_to(target)
    write_atomically(path, b"first")
    with pytest.raises(ValueError, match="stop"), replacing(path, durable=False) as file:
        file.write(b"second")
        raise ValueError("stop")
    assert (path.read_text(), target.read_text(), draft.exists()) == ("first", "kept", False)
    draft.write_text("half")
    (tmp_path / f".u.csv.{os.getpid()}").mkdir()
    remove_drafts(tmp_path)
    assert {entry.name for entry in tmp_path.iterdir()} == {
        "t.csv",
        "target",
        ".u.csv." + str(os.getpid()),
    }


@pytest.mark.parametrize("name", ["journal", "samples", "telemetry", "writing.lock", "operators"])
def test_a_link_that_a_writer_would_follow_is_refused(tmp_path: Path, name: str) -> None:
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    for folder in (run, elsewhere):
        folder.mkdir()
    (run / "note").symlink_to("/dev/null")
    reject_links(run)
    (run / name).symlink_to(elsewhere)
    with pytest.raises(ResultsError, match=name):
        reject_links(run)


@pytest.mark.parametrize(
    ("text", "rounds"),
    [
        ("", {}),
        ("case_id,rounds\n", {}),
        ("case_id,rounds\na,3\nb,0\n", {"a": 3, "b": 0}),
        ("rounds,model,case_id\n3,m,a\n", {"a": 3}),
        ("case_id,model\na,3\n", {}),
        ("model,rounds\na,3\n", {}),
        ("case_id,rounds\na\nb,x\nc,-1\nd,2\n", {"d": 2}),
        ('case_id,rounds\na,3\nb,"2', {}),
    ],
)
def test_rounds_of_a_table_are_read_where_it_has_them(
    tmp_path: Path, text: str, rounds: dict[str, int]
) -> None:
    (tmp_path / "results.csv").write_text(text)
    assert read_rounds(tmp_path / "results.csv") == rounds
    assert read_rounds(tmp_path / "absent.csv") == {}
    assert rows_of("model,rounds\na,3\n") == {}


def test_lanes_of_records_are_lanes_or_shapes() -> None:
    records = np.zeros(3, RECORD)
    records["lane"], records["set"] = [0, 1, 2], [2, 1, 0]
    torn = records_of(records.tobytes() + b"x" * (RECORD.itemsize - 1))
    assert len(torn) == 3
    for has_shapes, has_sets, lanes, shapes in (
        (False, False, [0, 1, 2], None),
        (True, False, None, [0, 1, 2]),
        (False, True, [0, 1, 2], [2, 1, 0]),
    ):
        samples = as_samples(torn, "wall", has_shapes=has_shapes, has_sets=has_sets)
        found = [None if s is None else s.tolist() for s in (samples.lanes, samples.shapes)]
        assert found == [lanes, shapes]
    records["lane"] = 0
    assert as_samples(records, "wall").lanes is None


@pytest.mark.parametrize(("factor", "shares"), [(1.0, [0.25, 0.75]), (0.0, [0.0, 0.0])])
def test_shares_of_operators_are_of_their_sum(factor: float, shares: list[float]) -> None:
    operators = tuple(Operator("n", "Add", factor * us, "") for us in (2.0, 6.0))
    header, *lines = operators_csv(OperatorTimes("case", ops=operators)).decode().splitlines()
    place = header.split(",").index("share")
    assert [float(line.split(",")[place]) for line in lines] == shares


def test_a_link_to_a_folder_is_a_state_and_is_not_entered(tmp_path: Path) -> None:
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    for folder in (run / "journal" / "deep", elsewhere):
        folder.mkdir(parents=True)
        (folder / "file").touch()
    (run / "manifest.json").touch()
    (run / "journal" / "link").symlink_to(elsewhere)
    (run / "journal" / "gone").symlink_to(tmp_path / "absent")
    names = {"manifest.json", "journal/deep/file", "journal/link"}
    assert file_states(run).keys() == names
