"""dlmark's four figures: each from known samples, and what is published kept apart."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from app.cases.case import Case
from app.cases.status import Status
from app.plan.expand import expand
from app.plan.studies import load_study
from app.present.studies.page import page
from app.present.studies.study import Study, found_in, study
from app.present.terminal import as_markdown
from app.run_folder.folder import RunFolder
from app.run_folder.journal import SearchCase
from app.run_folder.manifest import read_manifest
from tests.app.present.studies.made import make_run, tables
from tests.app.run_folder.runs import record
from tests.checkout import ROOT

RUNTIMES = ["ort-cpu", "torch-cpu"]


def part(name: str) -> Study:
    return study(f"dlmark/{name}")


def told(name: str, folder: Path) -> str:
    return as_markdown(page(part(name), found_in(folder, load_study(f"dlmark/{name}"))))


def row_of(table: list[list[str]], *names: str) -> dict[str, str]:
    (row,) = [row for row in table[1:] if tuple(row[: len(names)]) == names]
    return dict(zip(table[0], row, strict=True))


def slower_in_batches(case: Case) -> float | Status | None:
    """A millisecond for each input and one more; vgg19 was not come to, and 16 does not fit it."""
    batch = case.axes["batch"]
    if case.model == "vgg19":
        return "out_of_memory" if batch == 16 else None
    return 1000.0 * (batch + 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dlmark") / "run"
    make_run(path, "dlmark/throughput", ["ort-cpu"], slower_in_batches, rounds=1)
    return path


def test_throughput_is_the_batch_over_the_mean_run(folder: Path) -> None:
    rates, memory, *_ = tables(told("throughput", folder))
    row = row_of(rates, "resnet50_v2")
    # 1 image in 2 ms, 4 in 5 ms, 16 in 17 ms.
    assert [row[size] for size in ("1", "4", "16")] == ["500/s", "800/s", "941/s"]
    lost_row = row_of(rates, "vgg19")
    assert (lost_row["1"], lost_row["16"]) == ("not run", "out of memory")
    assert len(rates) == len(memory) == 1 + 34


def test_published_accuracy_has_a_column_of_its_own(folder: Path) -> None:
    text = told("throughput", folder)
    table = tables(text)[-2]
    assert table[0] == ["model", "family", "images/s, measured", "top-1, published"]
    source = (ROOT / "assets" / "published" / "gluon_zoo.csv").read_text("utf-8")
    published_top1 = {
        row["model"]: row["published_top1"] for row in csv.DictReader(source.splitlines())
    }
    for model, _, rate, top1 in table[1:]:
        assert top1 == f"{100 * float(published_top1[model]):.2f} %"
        assert rate == ("out of memory" if model == "vgg19" else "941/s")
    sentence = "at batch 16, which most have; the study has 64. Top-1 is published"
    assert sentence in text.replace("\\", "")
    # A millisecond more for a batch than for each of its inputs: 941 / 500 of 33 networks.
    claim = "throughput at batch 1 in 33 of 33 networks and lower in 0; the median is 1.88 times"
    assert claim in text


def test_the_largest_batch_says_what_ended_the_search_and_that_one_is_not_over(
    tmp_path: Path,
) -> None:
    ends: dict[str, dict[int, Status]] = {
        "alexnet": {2: "ok", 4: "out_of_memory", 3: "ok"},
        "inceptionv3": {2: "ok"},
        "vgg11": {2: "ok", 3: "out_of_memory"},
    }
    path = tmp_path / "run"
    cases = make_run(path, "dlmark/largest", [], lambda case: 50.0 if case.model in ends else None)
    with RunFolder.reopen(path) as folder:
        for first in cases:
            for batch, status in ends.get(first.model, {}).items():
                case = replace(first, axes={"batch": batch})
                folder.record(SearchCase(case))
                record(folder, case, 0, [50.0] * 9 if status == "ok" else [], status)
    assert read_manifest(path).requested_plan.memory_limit == "4GiB"
    *_, table, _ = tables(told("largest", path))
    finished_row, going, absent = (
        row_of(table, name) for name in ("alexnet", "inceptionv3", "vgg19")
    )
    assert (finished_row["largest batch"], finished_row["what ended it"]) == (
        "3",
        "out of memory at 4",
    )
    assert finished_row["tried"] == "1, 2, 4, 3"
    assert going["what ended it"] == "not over, none larger was tried"
    assert absent["largest batch"] == "not run"
    files = part("largest").files(found_in(path, load_study("dlmark/largest")))
    picture = files["largest.svg"].decode()
    assert "alexnet: batch 3, 61.1M parameters" in picture and "vgg11: batch 2, " in picture


def test_the_plans_are_the_documents_networks() -> None:
    zoo = {case.model for case in expand(load_study("dlmark/throughput"))}
    assert len(zoo) == 34
    assert zoo == {case.model for case in expand(load_study("dlmark/largest"))}
    accuracy_cases = expand(load_study("dlmark/accuracy"))
    assert {case.axes["batch"] for case in accuracy_cases} == {64}
    assert {case.precision for case in accuracy_cases} == {"fp32", "int8"}


def test_memory_is_linear_where_its_slopes_agree(tmp_path: Path) -> None:
    """100 MiB and 10 for each image, and of one network 100 MiB only from batch 16 on."""
    path = tmp_path / "run"
    cases = make_run(path, "dlmark/throughput", ["ort-cpu"], lambda case: None)
    with RunFolder.reopen(path) as run:
        for case in cases:
            batch = case.axes["batch"]
            if case.model in ("alexnet", "vgg11"):
                growth_mb = 10.0 * batch if case.model == "vgg11" else 100.0 * (batch // 16)
                record(run, case, 0, [1000.0] * 30, rss_peak_mb=100.0 + growth_mb)
    text = told("throughput", path)
    assert "memory is linear over the batch sizes 1, 4 and 16 in 1 of 2 networks" in text


def test_several_devices_have_lines_and_pictures_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "run"
    make_run(path, "dlmark/throughput", RUNTIMES, slower_in_batches, batch_size=[1, 64])
    rates, *_ = tables(told("throughput", path))
    assert rates[0] == ["model", "device", "1", "64"]
    assert row_of(rates, "alexnet", "torch-cpu")["64"] == "985/s"
    results = found_in(path, load_study("dlmark/throughput"))
    picture = ElementTree.fromstring(part("throughput").files(results)["published-accuracy.svg"])
    assert "at batch 64, measured, torch-cpu" in " ".join(picture.itertext())
    times_us = {"ort-cpu": 1000.0, "torch-cpu": 4000.0}
    make_run(tmp_path / "two", "dlmark/devices", RUNTIMES, lambda case: times_us[case.runtime])
    row = row_of(tables(told("devices", tmp_path / "two"))[0], "alexnet", "16")
    assert (row["ort-cpu"], row["torch-cpu"]) == ("16.0k/s", "4.00k/s"), "beside each other"
