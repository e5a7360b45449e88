"""A run that other machines measured: their shares lie in `hosts/NAME/SHARE`, read as one run."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app.analysis.columns.rows import Rows
from app.analysis.columns.tables import write_tables
from app.cases.case import Case
from app.run_folder.folder import RunFolder
from app.run_folder.manifest import MANIFEST
from app.runs.following.reader import RunReader
from app.runs.reader import read_environments, read_run
from app.runs.verify import verify
from tests.app.run_folder.runs import CASE, ENVIRONMENT, OTHER, manifest_of, record


def share(run: Path, host: str, number: int, case: Case) -> Path:
    """A share as a host's run leaves it: two rounds of one case, one faster than the other."""
    manifest = replace(read_run(run).manifest, cases=(case,))
    path = run / "hosts" / host / str(number)
    with RunFolder.create(path, manifest) as folder:
        folder.begin({**ENVIRONMENT, "host": host})
        for place in range(2):
            record(folder, case, place, [100.0 * number + place] * 20, attempt=number)
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run"
    with RunFolder.create(path, manifest_of()) as folder:
        folder.begin(ENVIRONMENT)
        share(path, "board", 1, CASE)
        share(path, "server", 2, OTHER)
        write_tables(folder, Rows().of(read_run(path)))
    return path


def test_the_rounds_of_all_shares_are_the_run(run: Path) -> None:
    stored = read_run(run)
    rows = {row["case_id"]: row for row in Rows().of(stored)}
    first, second = (rows[case.case_id] for case in (CASE, OTHER))
    assert (first["host"], first["rounds"]) == ("board", 2)
    assert (second["host"], second["rounds"]) == ("server", 2)
    assert 100.0 <= float(str(first["latency_p50_us"])) <= 101.0
    assert 200.0 <= float(str(second["latency_p50_us"])) <= 201.0
    assert {"board", "server"} <= read_environments(run).keys()
    assert not verify(run).findings


def test_a_later_share_of_a_case_stands_and_a_link_is_not_read(run: Path, tmp_path: Path) -> None:
    share(run, "server", 3, CASE)
    stored = read_run(run)
    assert {result.attempt for result in stored.rounds_of(CASE)} == {3}
    assert stored.host_of(CASE) == "server"
    (row,) = (row for row in Rows().of(stored) if row["case_id"] == CASE.case_id)
    assert 300.0 <= float(str(row["latency_p50_us"])) <= 301.0
    for number, path in enumerate([run / "hosts/board/1", run / "hosts/server/3"]):
        path.rename(tmp_path / f"elsewhere{number}")
        path.symlink_to(tmp_path / f"elsewhere{number}")
    assert not read_run(run).rounds_of(CASE)


def test_damage_in_a_share_is_named_by_its_file(run: Path) -> None:
    (samples,) = (run / "hosts/board/1/samples").glob("*.0.bin")
    samples.write_bytes(samples.read_bytes()[:-24])
    manifest = run / "hosts/server/2" / MANIFEST
    manifest.write_text(re.sub(r'("seed": ?)3', r"\g<1>4", manifest.read_text()))
    files = {finding.file for finding in verify(run).findings if not finding.harmless}
    assert files == {str(samples.relative_to(run)), str(manifest.relative_to(run))}
    assert len(read_run(run).rounds_of(CASE)) == 1


def test_who_follows_a_run_sees_what_its_hosts_measure_as_it_arrives(run: Path) -> None:
    def rounds_shown() -> dict[str, int]:
        state = reader.poll()
        assert state is not None
        return {item.key: len(item.rounds) for item in state.series}

    with closing(RunReader(run)) as reader:
        assert rounds_shown() == {CASE.case_id: 2, OTHER.case_id: 2}
        manifest = replace(read_run(run).manifest, cases=(CASE,))
        with RunFolder.create(run / "hosts/board/3", manifest) as folder:
            folder.begin({**ENVIRONMENT, "host": "board"})
            for number in (0, 1, 2):
                record(folder, CASE, number, [50.0] * 20, attempt=3)
                assert rounds_shown()[CASE.case_id] == max(2, number + 1)
