"""Pages of docs: links, words of the glossary, the founding documents."""

from __future__ import annotations

import re
import shlex
import tomllib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from app.analysis.columns.table import BY_NAME as COLUMNS
from app.cli.main import as_command
from app.cli.parsers import parse, parser_of
from app.cli.table import BY_NAME
from app.cli.table import BY_NAME as COMMANDS
from app.plan.configuration import configurations
from app.plan.plan import named_lengths, plan_of_file
from app.present.studies.study import STUDIES, WHOLES
from exporters.user_module import bring
from tests.benchmarks.__main__ import BENCHMARKS
from tests.benchmarks.tables import benchmarks_of
from tests.checkout import ROOT
from tests.documents.page import PAGE, Statement, catalogue, rows_of, statements
from tests.documents.page import page as documents_page
from tests.runtimes.fpga.published import predict, read_rows

DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / "README.md", *DOCS]
PLAN_FILE = ROOT / "docs" / "plan-file.md"


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a page in one language, "" for those without."""
    text = page.read_text("utf-8")
    matches = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [block for tongue, block in matches if tongue == language]


def section(page: Path, heading: str) -> dict[str, list[str]]:
    """The rows of the table under a heading: the key in backquotes -> the other cells."""
    _, _, rest = page.read_text("utf-8").partition(f"\n## {heading}\n")
    body = rest.partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in body.splitlines()]
    return {row[0].strip("`"): row[1:] for row in rows if row and row[0].startswith("`")}


def test_the_lengths_are_those_of_the_profiles() -> None:
    profiles = section(PLAN_FILE, "How long to measure")
    assert list(profiles) == list(named_lengths())
    for name, (rounds, each, limit, kill_limit, spread) in profiles.items():
        lengths = named_lengths()[name]
        limits = lengths.limits
        assert rounds == f"{lengths.rounds}"
        assert each == f"{limits.min_s:g} to {limits.max_s:g} s"
        assert limit == f"{limits.min_samples} samples"
        assert kill_limit == f"{lengths.time_limit_s:g} s"
        longer = f", {lengths.contended_spread_s:g} s under other load"
        is_longer = lengths.contended_spread_s > lengths.spread_s
        assert spread == f"{lengths.spread_s:g} s" + (longer if is_longer else "")


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.stem)
def test_example_files_are_valid(page: Path, tmp_path: Path) -> None:
    file = tmp_path / "example.toml"
    for text in blocks(page, "toml"):
        if text.startswith(("# graphlap.toml", "# config.toml")):
            file.write_text(text, "utf-8")
            assert configurations(str(file))
        else:
            plan_of_file(tomllib.loads(text), page.name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_are_understood(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runs" / "nets").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    whole = [block.replace("\\\n", "") for block in blocks(page, "")]
    lines = [re.sub(r" > \S+", "", line) for block in whole for line in block.splitlines()]
    for command in [shlex.split(line) for line in lines if line.startswith("graphlap ")]:
        name, *words = as_command(command[1:])
        parse(BY_NAME[name], words)


def test_the_first_model_is_one(tmp_path: Path) -> None:
    page = ROOT / "docs" / "first-model.md"
    file = tmp_path / "mynet.py"
    file.write_text(blocks(page, "python")[0], "utf-8")
    model = bring(f"{file}:build", 0)
    count = sum(parameter.numel() for parameter in model.module.parameters())
    assert f"{count:,} parameters" in page.read_text("utf-8")
    assert model.call.names == ("signal",)


def test_the_answer_that_is_shown_is_what_is_printed() -> None:
    (shown_text,) = [
        text for text in blocks(ROOT / "docs" / "a-run.md", "") if "outputs right" in text
    ]
    golden = ROOT / "tests" / "golden" / "expected" / "plain" / "terminal-80.txt"
    assert golden.read_text("utf-8").startswith(shown_text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text("utf-8")):
        if "://" in target:
            continue
        path, _, heading = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        if heading:
            headings = re.findall(r"^#+ (.+)$", file.read_text("utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}
            assert heading in anchors, target


def test_every_page_is_in_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    assert "docs/README.md" in (ROOT / "README.md").read_text("utf-8")
    listed_pages = set(re.findall(r"\]\(([\w-]+\.md)", index.read_text("utf-8")))
    assert {page.name for page in DOCS} - {index.name} == listed_pages


GLOSSARY = ROOT / "docs" / "README.md"


ROWS = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", GLOSSARY.read_text("utf-8"), re.MULTILINE)


ENTRIES = [row for row in ROWS if row[0] != "word" and "---" not in row[0]]


@cache
def options() -> frozenset[str]:
    """Of all commands."""
    parsers = (parser_of(command) for command in COMMANDS.values())
    return frozenset(name for parser in parsers for name in parser._option_string_actions)


@pytest.mark.parametrize("place", {row[2]: None for row in ENTRIES})
def test_an_entry_refers_to_what_exists(place: str) -> None:
    for name in re.findall(r"`([^`]+)`", place):
        if name.startswith("--"):
            assert name in options()
        elif name.startswith("graphlap "):
            assert name.split()[1] in COMMANDS
        elif re.fullmatch(r"[a-z0-9_]+", name) and name != "closed_loop":
            assert name in COLUMNS


FAULTS_PAGE = ROOT / "docs" / "faults.md"


def test_each_fault_names_a_test_that_is_there() -> None:
    test_names = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", FAULTS_PAGE.read_text("utf-8"))
    assert len(test_names) > 25
    for path, name in test_names:
        assert f"def {name}(" in (ROOT / path).read_text("utf-8"), f"{path}::{name}"


def test_every_table_of_a_page_is_of_a_benchmark() -> None:
    pages = [path.read_text("utf-8") for path in sorted((ROOT / "docs").glob("*.md"))]
    names = set().union(*map(benchmarks_of, pages))
    assert "intervals" in names
    for name in names:
        assert name in BENCHMARKS
    for page in pages:
        assert page.count("<!-- benchmark: ") == page.count("<!-- end of benchmark: ")


RESULTS = {"equal", "differs", "inferred", "not reproduced"}


def test_the_page_is_what_its_command_writes() -> None:
    text = PAGE.read_text("utf-8")
    assert text == documents_page(text), "python -m tests.documents writes it anew"


def test_published_means_are_within_five_per_cent_and_tails_within_eight() -> None:
    predictions = [predict(row) for row in read_rows() if row.fits]
    assert max(abs(prediction.mean_error) for prediction in predictions) < 5
    assert max(abs(prediction.p99_error) for prediction in predictions) < 8


def test_the_zoo_has_the_published_parameters() -> None:
    for row in rows_of("gluon_zoo.csv"):
        parameters = catalogue()[row["model"]]["parameters_with_buffers"]
        assert parameters == row["parameters_with_running_stats"], row["model"]


@pytest.mark.parametrize("one", statements(), ids=lambda one: one.statement[:40])
def test_every_statement_is_answered_by_a_command_or_a_file(one: Statement) -> None:
    assert one.result in RESULTS
    assert one.result == "equal" or one.reason, "what is not equal has a reason"
    if one.result == "not reproduced":
        assert one.answer == ""
        return
    words = shlex.split(one.answer)
    if words[0] == "graphlap":
        options = parse(BY_NAME[words[1]], words[2:])
        assert words[1] != "study" or options.study in {*STUDIES, *WHOLES}
    elif words[:2] == ["python", "-m"]:
        assert find_spec(words[2]) is not None
    else:
        assert (ROOT / one.answer).exists()
