"""Result files of other programs as rows: their own figures, under their own names."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest

from app.__main__ import main
from app.analysis.columns.tables import read_rows
from app.cases.column import Row
from app.cli.notebook import open as open_run
from app.formatting.text import printable
from app.run_folder.diagnostics import diagnostics_of
from app.run_folder.folder import RunFolder
from app.run_folder.run import Run
from app.runs.reader import read_run
from exporters.diagnostics import codes
from tests.app.cli.headless.batch import run as batch
from tests.app.run_folder.runs import CASE, manifest_of, record
from tests.app.runs.importing.foreign import NEWER, OLDER, trtexec_times

FILES = Path(__file__).with_name("files")
REAL = ("benchmark_report.json", "benchmark_report.csv", "pyperf.json")


def imported(out: Path, *files: Path | str) -> list[Row]:
    """The rows of these files, imported by the command."""
    assert main(["import", *map(str, files), "--out", str(out)]) == 0
    return list(read_rows(out / "results.full.csv").values())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("imports") / "run"
    imported(out, *(FILES / name for name in REAL))
    return read_run(out)


@pytest.fixture(scope="module")
def rows(run: Run) -> dict[str, Row]:
    """By the file that each was read from."""
    rows_by_name: dict[str, Row] = {}
    for row in read_rows(run.path / "results.full.csv").values():
        name = str(row["imported_file"])
        rows_by_name[name] = row
    return rows_by_name


_MS, _NS = 1e3, 1e-3
PRINTED = {
    "benchmark_report.json": [
        ("latency_p50_us", r"Median: +([\d.]+) ms", _MS),
        ("latency_mean_us", r"Average: +([\d.]+) ms", _MS),
        ("latency_min_us", r"Min: +([\d.]+) ms", _MS),
        ("latency_max_us", r"Max: +([\d.]+) ms", _MS),
        ("throughput_per_s", r"Throughput: +([\d.]+) FPS", 1.0),
        ("iterations", r"Count: +(\d+) iterations", 1.0),
        ("duration_s", r"Duration: +([\d.]+) ms", 1e-3),
    ],
    "benchmark_report.csv": [
        ("latency_p90_us", r"90 percentile: +([\d.]+) ms", _MS),
        ("latency_mean_us", r"Average: +([\d.]+) ms", _MS),
        ("throughput_per_s", r"Throughput: +([\d.]+) FPS", 1.0),
    ],
    "pyperf.json": [
        ("latency_mean_us", r"Mean \+- std dev: ([\d.]+) us", 1.0),
        ("latency_std_us", r"Mean \+- std dev: .* \+- ([\d.]+) us", 1.0),
        ("latency_p50_us", r"Median \+- MAD: +([\d.]+) ns", _NS),
        ("latency_min_us", r"Minimum: +([\d.]+) ns", _NS),
        ("latency_max_us", r"Maximum: +([\d.]+) us", 1.0),
        ("iterations", r"Total number of values: (\d+)", 1.0),
    ],
}


@pytest.mark.parametrize("name", PRINTED)
def test_a_row_has_what_its_program_printed_of_the_same_run(
    rows: dict[str, Row], name: str
) -> None:
    text = (FILES / f"{name}.printed.txt").read_text()
    for column, pattern, scale in PRINTED[name]:
        match = re.search(pattern, text, re.MULTILINE)
        assert match is not None, pattern
        # Both may have been rounded, each to the last digit that was printed.
        last_digit = 10.0 ** -len(match[1].partition(".")[2])
        value = rows[name][column]
        assert isinstance(value, float | int), column
        assert abs(value - scale * float(match[1])) <= 1.001 * scale * last_digit, column


def test_a_row_names_its_program_and_that_ones_clock_and_boundary_and_claims_nothing(
    rows: dict[str, Row],
) -> None:
    assert rows["pyperf.json"]["imported_from"] == "pyperf 2.10.0"
    assert rows["pyperf.json"]["boundary"] == "a call, the mean of 200"
    assert rows["benchmark_report.json"]["device"] == "CPU"
    means = rows["pyperf.json"]
    assert means["latency_p90_us"] is means["latency_p99_us"] is means["pooled_p90_us"] is None
    assert "samples_are_means" in codes(diagnostics_of(means)), "of many calls, without a tail"
    for name, row in rows.items():
        assert row["status"] == "imported", name
        assert str(row["runtime"]).startswith("imported:"), name
        assert row["clock"] not in ("wall", "device", "simulated"), name
        assert "not by Graphlap" in str(row["reason"]), name
        forbidden = ("_ci_low", "_ci_high", "upper_bound_us", "required_rounds", "mlperf_p")
        columns = [column for column, value in row.items() if value is not None]
        assert not [column for column in columns if any(word in column for word in forbidden)], name
        assert row["output_ok"] is row["threads"] is row["seed"] is row["host"] is None, name


def test_single_timings_are_kept_and_the_folder_is_whole(run: Run) -> None:
    rounds = {case.runtime: run.rounds_of(case) for case in run.cases}
    assert [entry.iterations for entry in rounds["imported:pyperf"]] == [6] * 4, (
        "a round for each worker"
    )
    document = json.loads((FILES / "pyperf.json").read_text())
    workers = [entry["values"] for entry in document["benchmarks"][0]["runs"] if "values" in entry]
    for result, seconds in zip(rounds["imported:pyperf"], workers, strict=True):
        assert np.allclose(run.samples_of(result).latency_ns, np.array(seconds) * 1e9, atol=1.0)
    assert main(["verify", str(run.path)]) == 0
    assert main(["export", "-f", "csv,json,markdown,trace", str(run.path)]) == 0


@pytest.mark.parametrize("words", [NEWER, OLDER])
def test_trtexec_latency_is_both_copies_and_the_compute(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    computes = [1.0 + 0.01 * number for number in range(100)]
    file = tmp_path / "anything.txt"
    file.write_text(trtexec_times(computes, words))
    (row,) = imported(tmp_path / "run", f"resnet={file}")
    assert row["model"] == "resnet"
    assert row["clock"] == "CUDA events of trtexec"
    assert row["latency_mean_us"] == pytest.approx(1e3 * (0.75 + np.mean(computes)))
    assert row["latency_p50_us"] == pytest.approx(1e3 * (0.75 + (computes[49] + computes[50]) / 2))
    # int((1 - 0.99) * 100) is 1 of them: trtexec leaves the slowest out, and tells the next.
    assert row["latency_p99_us"] == pytest.approx(1e3 * (0.75 + computes[98]))
    assert (row["h2d_p50_us"], row["d2h_p50_us"]) == (250.0, 500.0)
    assert row["iterations"] == 100
    assert "warm_up_included" not in codes(diagnostics_of(row))
    file.write_text(trtexec_times([1.0, 2.0], OLDER, {"endToEndMs": 3.0}))
    (row,) = imported(tmp_path / "older", file)
    assert "warm_up_included" in codes(diagnostics_of(row))


def _times(latency: str) -> str:
    return trtexec_times([1.0]).replace('"latencyMs": 1.75', f'"latencyMs": {latency}')


_BAD = {
    "a table of somebody": ("schema_version,run_id\n2,abc\n", "no result file of a program"),
    "a table of ours": ("schema_version,graphlap_version,run_id\n2,1,abc\n", "Graphlap's own"),
    "nothing": ("\n", "is damaged (it is empty)"),
    "torn": ('[{"startComputeMs": 1.0, "laten', "is damaged (it is no JSON"),
    "no time": (_times("-1"), "no whole file of trtexec (latencyMs of query 0 is -1"),
    "a huge time": (_times("1e15"), "no whole file of trtexec (it goes on for 1e+12 s"),
    "huge loops": (
        (FILES / "pyperf.json").read_text().replace('"loops":', '"loops":9999999999,"a":'),
        "no whole file of pyperf (loops are",
    ),
    "no values": (
        json.dumps({"version": "1.0", "benchmarks": [{"runs": [{}], "metadata": {"name": "n"}}]}),
        "of pyperf has no timings (the benchmark 'n' has no values)",
    ),
}


@pytest.mark.parametrize("kind", _BAD)
def test_what_is_no_such_file_is_refused_in_one_sentence(kind: str, tmp_path: Path) -> None:
    content, message = _BAD[kind]
    file = tmp_path / "file"
    file.write_text(content)
    code, _, errors = batch("import", str(file), "--out", str(tmp_path / "run"))
    assert (code, errors.count("\n")) == (2, 1)
    assert message in errors
    assert not (tmp_path / "run").exists()


def test_a_case_is_taken_once_and_a_file_must_be_there(tmp_path: Path) -> None:
    file, torn, packed = FILES / "pyperf.json", tmp_path / "torn.csv", tmp_path / "sort.json.gz"
    torn.write_bytes((FILES / "benchmark_report.csv").read_text().encode("utf-16")[:-1])
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert len(imported(tmp_path / "run", file, f"again={file}")) == 2
    (row,) = imported(tmp_path / "packed", packed)
    assert row["imported_file"] == packed.name
    for words, message in (
        (["import", file, file], "hold the same case 'sort'"),
        (["import", tmp_path / "absent.json"], "absent.json can't be read"),
        (["import", torn], "is damaged (it is no whole utf-16-le"),
        (["import", tmp_path], "is a folder, and no file"),
        (["import", tmp_path / "run"], "is a run folder of Graphlap, and no file"),
        (["resume", tmp_path / "run"], "was imported"),
        (["--headless", "--plan", tmp_path / "run"], "was imported"),
    ):
        out = ["--out", str(tmp_path / "made")] if words[0] == "import" else []
        code, _, errors = batch(*map(str, words), *out)
        assert code == 2 and message in errors
    assert not (tmp_path / "made").exists()


def test_an_imported_run_is_compared_with_its_like_alone(run: Run, tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "ours", manifest_of()) as folder:
        record(folder, CASE, 0, [10.0] * 400)
    code, _, errors = batch("compare", str(run.path), str(tmp_path / "ours"))
    assert code == 2 and "have no case in common" in errors
    imported(tmp_path / "sort", FILES / "pyperf.json")
    code, output, _ = batch("compare", str(run.path), str(tmp_path / "sort"))
    assert code == 0 and ("same" in output or "undecided" in output)
    imported(tmp_path / "stated", FILES / "benchmark_report.csv")
    code, _, errors = batch("compare", str(run.path), str(tmp_path / "stated"))
    assert code == 2 and "no single timings, which no verdict can be made of" in errors


@pytest.mark.parametrize(("encoding", "told"), [("utf-16", "modèle"), ("latin-1", "mod\\xe8le")])
def test_a_file_in_another_encoding_is_read_too(encoding: str, told: str, tmp_path: Path) -> None:
    """PowerShell writes UTF-16 of what a program prints; a path may hold any byte."""
    text = (FILES / "benchmark_report.csv").read_text().replace("layers.onnx", "modèle.onnx")
    file = tmp_path / "report.csv"
    file.write_bytes(text.encode(encoding))
    (row,) = imported(tmp_path / "run", file)
    assert printable(str(row["model"])) == told
    pandas = pytest.importorskip("pandas")
    assert pandas.notna(open_run(tmp_path / "run").rows.loc[0, "model"]), "no dataframe chokes"
