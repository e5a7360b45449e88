"""`graphlap study`: a real run with its page, the page of a stored run, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.cases.errors import PlanError
from app.cases.round import MEASURED
from app.formatting import text
from app.plan.command_line import parse
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.studies import is_part, load_study, study_names
from app.present.studies.study import STUDIES, study
from app.run_folder.manifest import read_manifest
from app.run_folder.run import read_records
from app.runs.reader import read_run
from tests.app.cli.headless.batch import run
from tests.app.present.studies.made import tables

pytestmark = pytest.mark.usefixtures("brief")

MODELS = ("dense_128_32", "skip_add_2")
HALF = ("study", "neurio", "--models", ",".join(MODELS), "--runtimes", "fake")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory, exported: Path) -> tuple[Path, str]:
    """A run of one layer and one cell on the scripted runtime, and what was printed of it."""
    folder = tmp_path_factory.mktemp("neurio") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRAPHLAP_CACHE", str(exported))
        patch.setenv("COLUMNS", "200")
        code, out, errors = run(*HALF, "--preset", "glance", "--rounds", "1", "--out", str(folder))
    assert code == 0, errors
    return folder, out


def test_a_run_that_is_there_or_is_resumed_has_its_page_again(
    measured: tuple[Path, str], monkeypatch: pytest.MonkeyPatch, exported: Path
) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(exported))
    folder, _ = measured
    page = folder / "study.md"
    content = page.read_bytes()
    for words in ([str(folder)], ["--resume", str(folder)]):
        page.unlink()
        code, out, errors = run("study", "neurio", *words)
        assert code == 0, errors
        assert page.read_bytes() == content
        assert str(page) in out


def test_another_studys_run_is_refused(measured: tuple[Path, str]) -> None:
    folder, _ = measured
    for words in ([str(folder)], ["--resume", str(folder)]):
        code, out, errors = run("study", "vollo", *words)
        assert (code, out) == (2, "")
        assert "has no case of study-vollo" in errors


def test_a_page_that_cannot_be_written_fails_and_the_run_stays(measured: tuple[Path, str]) -> None:
    folder, _ = measured
    page = folder / "study.md"
    content = page.read_bytes()
    page.unlink()
    page.mkdir()
    try:
        code, out, errors = run("study", "neurio", str(folder))
    finally:
        page.rmdir()
        page.write_bytes(content)
    assert (code, out, errors.count("\n")) == (1, "", 1)
    assert "can't be written (Is a directory)" in errors


def test_what_a_budget_leaves_out_is_named_and_can_be_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exported: Path, measured: tuple[Path, str]
) -> None:
    """A second is less than any round takes, and the graphs are in the cache by now."""
    monkeypatch.setenv("GRAPHLAP_CACHE", str(exported))
    monkeypatch.setenv("COLUMNS", "200")
    folder = tmp_path / "run"
    code, out, errors = run(*HALF, "--rounds", "2", "--budget", "1s", "--out", str(folder))
    assert code == 1, errors
    assert "not run in the budget of 1 s: 4 of 4 rounds\n- no round: fake all 2\n" in out
    assert "- graphlap study NAME --resume RUN measures the rest\n" in out
    page_tables = tables((folder / "study.md").read_text("utf-8"))
    assert sum(row.count("not run") for table in page_tables for row in table) == len(MODELS)


def test_simulated_means_and_their_errors_are_those_of_the_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exported: Path
) -> None:
    """One network on the three cards, really compiled and scheduled; the published means of its
    row are copied from the document."""
    monkeypatch.setenv("GRAPHLAP_CACHE", str(exported))
    folder = tmp_path / "run"
    words = ["study", "vollo", "--models", "cnn_tiny", "--runtimes", "fake"]
    words += ["--preset", "glance", "--rounds", "1", "--budget", "5m", "--out", str(folder)]
    code, _, errors = run(*words)
    assert code == 0, errors
    means, *_ = tables((folder / "study.md").read_text("utf-8"))
    cells = dict(zip(means[0], means[1], strict=True))
    stored_run = read_run(folder)
    for case in stored_run.cases:
        (result,) = stored_run.rounds_of(case)
        records = read_records(folder / "samples" / result.samples)
        measured_records = records[records["phase"] == MEASURED]
        mean_us = (
            float(np.mean(measured_records["finished_ns"] - measured_records["started_ns"])) / 1e3
        )
        if case.runtime == "fake":
            assert cells["fake measured"] == text.significant(mean_us)
            continue
        card = case.runtime.partition(":")[2].partition("@")[0].upper()
        published_us = {"V80": 2.5, "IA-840F": 2.1, "IA-420F": 2.2}[card]
        assert cells[f"{card} published"] == str(published_us)
        assert cells[f"{card} simulated"] == f"{mean_us:.2f}"
        assert cells[f"{card} error"] == f"{100 * (mean_us - published_us) / published_us:+.1f} %"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["volo"], "there is no study called 'volo': did you mean 'vollo'?"),
        (["vollo", "--batch", "4"], "--batch: the study vollo compares with figures at batch 1"),
        (["vollo", "a", "--rounds", "2"], "--rounds cannot be used with the run a"),
        (["vollo", "--resume", "a", "--models", "mlp"], "--models cannot be used with the run in"),
        (["vollo", "--models", "cnn_tinny"], "did you mean 'cnn_tiny'?"),
        (["dlmark", "nowhere"], "nowhere has no part of the study dlmark"),
        (["dlmark", "--out", "taken", "--models", "alexnet"], "taken is there already"),
    ],
)
def test_what_means_nothing_is_refused_before_anything_is_written(
    words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").write_text("mine")
    code, out, errors = run("study", *words)
    assert (code, out, errors.count("\n")) == (2, "", 1)
    assert told in errors
    assert [path.name for path in tmp_path.rglob("*")] == ["taken", "file"]


def test_every_study_has_a_plan_and_a_page() -> None:
    assert tuple(STUDIES) == study_names()
    for name in STUDIES:
        assert study(name).name == name
        assert load_study(name).name == f"study-{name.replace('/', '-')}"
        assert expand(plan_from_options(parse(["--study", name])))


def test_a_study_is_a_plan_like_a_suite() -> None:
    """What starts a suite starts a study; its page is made of the run that this leaves."""
    words = ["--suite", "study-dlmark/throughput", "--models", "alexnet"]
    plan = plan_from_options(parse(words))
    assert plan.name == "study-dlmark-throughput"
    assert {case.model for case in expand(plan)} == {"alexnet"}
    assert all(is_part(case, load_study("dlmark/throughput")) for case in expand(plan))
    with pytest.raises(PlanError, match="there is no study called 'volo'"):
        plan_from_options(parse(["--suite", "study-volo"]))


def test_parts_share_a_budget_and_the_page_names_what_it_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = ("study", "char-cnn", "--runtimes", "ort-cpu", "--budget", "10ms")
    code, out, errors = run(*command, "--out", str(folder))
    assert code == 1, errors
    parts = ("steps", "operators", "ladder")
    budgets = [read_manifest(folder / part).requested_plan.budget_s for part in parts]
    assert budgets == pytest.approx([0.003, 0.002, 0.005])
    assert "not run in the budget" in out
    assert "there is no ladder yet" in out
    page = (folder / "study.md").read_text("utf-8")
    assert page.startswith("# The character-level CNN, optimised\n")
    assert "\n## One step at a time\n" in page
    assert "\n### Not measured\n" in page
