"""A study of several plans: its parts' folders, their shares of a budget, one page of all."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.run_folder.manifest import read_manifest
from app.studies.study import WHOLES, study, whole
from tests.app.headless.batch import rows, run
from tests.app.studies.made import tables

pytestmark = pytest.mark.usefixtures("brief")

ALONE = ("--models", "digits_mlp_8", "--runtimes", "ort-cpu", "--rounds", "1")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> tuple[Path, str]:
    """Of dlmark's parts the one that has a network which is trained."""
    folder = tmp_path_factory.mktemp("dlmark") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRAPHLAP_CACHE", str(cache))
        patch.setenv("COLUMNS", "200")
        _, out, errors = run("study", "dlmark", *ALONE, "--out", str(folder))
    assert (folder / "study.md").exists(), errors
    return folder, out


@pytest.mark.rare
def test_accuracy_and_throughput_of_the_page_are_those_of_the_rows(
    measured: tuple[Path, str],
) -> None:
    folder, out = measured
    *_, table, _ = tables((folder / "study.md").read_text("utf-8"))
    figures = {row[1]: row[2:] for row in table[1:]}
    for row in rows(folder / "accuracy"):
        assert row["status"] in ("ok", "wrong_output"), row["reason"]
        rate, top1, _ = figures[f"{row['runtime']} {row['precision_requested']}"]
        assert top1 == f"{100 * float(row['accuracy_top1']):.2f} %"
        assert rate.endswith("/s")
        scale = {"k": 1e3, "M": 1e6}.get(rate[-3], 1.0)
        figure = float(rate.removesuffix("/s").rstrip("kM")) * scale
        assert figure == pytest.approx(float(row["throughput_per_s"]), rel=6e-3)
    assert "Accuracy against throughput (1 of 1)" not in out, "progress is no answer"


@pytest.mark.rare
def test_parts_without_the_models_that_are_asked_for_are_named(
    measured: tuple[Path, str],
) -> None:
    folder, _ = measured
    assert [path.name for path in sorted(folder.iterdir())] == ["accuracy", "study.md"]
    page = (folder / "study.md").read_text("utf-8")
    absent = "Throughput and memory by batch size, The largest batch, Throughput by device"
    assert f"not part of this run: {absent}" in page
    assert "![measured top\\-1" in page or "![measured top-1" in page
    assert "](accuracy/accuracy.svg)" in page
    assert (folder / "accuracy" / "accuracy.svg").exists()


@pytest.mark.rare
def test_a_run_that_is_there_has_its_page_again(measured: tuple[Path, str]) -> None:
    folder, _ = measured
    content = (folder / "study.md").read_bytes()
    (folder / "study.md").unlink()
    for words in ([str(folder)], ["--resume", str(folder)]):
        _, out, errors = run("study", "dlmark", *words)
        assert (folder / "study.md").read_bytes() == content, errors
        assert f"wrote {folder / 'study.md'}" in out


@pytest.mark.rare
def test_a_part_is_a_study_of_its_own(measured: tuple[Path, str]) -> None:
    folder, _ = measured
    code, out, errors = run("study", "dlmark/accuracy", str(folder / "accuracy"))
    assert (code, errors) == (0, "")
    assert "Accuracy against throughput" in out


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


def test_the_parts_of_every_whole_have_plans_and_shares() -> None:
    for name in WHOLES:
        definition = whole(name)
        assert definition is not None
        assert definition.name == name
        assert len(definition.parts) == len(definition.shares)
        assert all(
            part == study(f"{name}/{definition.folder_of(part)}") for part in definition.parts
        )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--models", "alexnett"], "the study has no model 'alexnett': did you mean 'alexnet'?"),
        (["nowhere"], "nowhere has no part of the study dlmark"),
        (["--resume", "nowhere"], "nowhere has no part of the study dlmark"),
        (["--out", "taken", "--models", "alexnet"], "taken is there already"),
        (["--scenario", "offline"], "--scenario: graphlap study has no such option"),
    ],
)
def test_what_means_nothing_is_refused_before_anything_is_written(
    words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").write_text("mine")
    code, out, errors = run("study", "dlmark", *words)
    assert (code, out, errors.count("\n")) == (2, "", 1)
    assert told in errors
    assert [path.name for path in tmp_path.rglob("*")] == ["taken", "file"]
