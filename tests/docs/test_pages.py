"""The documentation says what the program does: keys, commands, examples and links."""

from __future__ import annotations

import math
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from app.commands.parsers import parse
from app.commands.table import BY_NAME
from app.commands.without_command import as_command
from app.plan.configuration import configurations
from app.plan.plan import named_lengths, plan_of_file
from app.stats.required_rounds import rounds_needed
from exporters.user_module import bring
from tests.checkout import ROOT

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


def test_the_rule_of_thumb_for_rounds_is_what_a_row_would_say() -> None:
    text = " ".join(PLAN_FILE.read_text("utf-8").split())
    spreads = (0.01, 0.03, 0.1, 0.3)
    # Of 200 rounds the deviation is known; what is needed is then no more than there are.
    scale = math.sqrt(199 / 200)
    needed_rounds = [
        rounds_needed([math.exp(-s * scale), math.exp(s * scale)] * 100) for s in spreads
    ]
    assert "a deviation of 1, 3, 10 and 30 %" in text
    assert "takes {}, {}, {} and {} rounds".format(*needed_rounds) in text


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_installs_graphlap_from_an_index(page: Path) -> None:
    """No index has it: a page installs from a checkout or a wheel. A remedy that the installed
    program prints may name an extra, since pip then finds what is installed."""
    assert not re.search(
        r"(pip|uv)[^\n`]* install [^\n`]*?[ '\"]graphlap\b", page.read_text("utf-8")
    )


def test_every_picture_is_on_a_page() -> None:
    pages_text = "".join(page.read_text("utf-8") for page in PAGES)
    pictures = (ROOT / "assets" / "screenshots").glob("*.png")
    assert [
        picture.name for picture in pictures if f"screenshots/{picture.name})" not in pages_text
    ] == []


def test_every_page_is_in_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    assert "docs/README.md" in (ROOT / "README.md").read_text("utf-8")
    listed_pages = set(re.findall(r"\]\(([\w-]+\.md)", index.read_text("utf-8")))
    assert {page.name for page in DOCS} - {index.name} == listed_pages
