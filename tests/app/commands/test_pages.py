"""The help pages: the words that they explain are words of the program."""

from __future__ import annotations

import re
import shlex

import pytest

from app.__main__ import main
from app.cases.scenario import Condition, Scenario
from app.commands.pages import EXIT_CODES, PAGES
from app.commands.parsers import parse
from app.commands.table import BY_NAME, COMMANDS, EXAMPLES
from app.commands.without_command import as_command
from app.plan.settings.table import accepted_by


def first_words(page: str) -> list[str]:
    return re.findall(r"^  ([a-z_]+(?:-l2|:\S+)?) ", page, re.MULTILINE)


def test_each_kind_of_scenario_and_condition_is_explained() -> None:
    kinds = {Scenario.parse(word).kind for word in first_words(PAGES["scenarios"]())}
    assert len(kinds) == 8
    conditions = {
        Condition.parse(word).kind
        for word in first_words(PAGES["conditions"]())
        if word not in ("shapes:FILE", "graphlap")
    }
    assert conditions == {"none", "cold", "cold-l2", "sustained", "with"}


def test_every_setting_of_a_run_is_on_the_page_of_settings() -> None:
    page = PAGES["settings"]()
    for setting in accepted_by("run"):
        assert f"{setting.flag} " in page or f"{setting.flag}\n" in page, setting.key


def test_the_exit_codes_are_those_that_the_program_ends_with() -> None:
    page = PAGES["exit-codes"]()
    assert [code for code, _ in EXIT_CODES] == [0, 1, 2, 3, 130]
    for code, _ in EXIT_CODES:
        assert re.search(rf"^ +{code}  ", page, re.MULTILINE)


@pytest.mark.parametrize("topic", ["scenarios", "conditions"])
def test_the_options_that_a_page_names_are_those_of_a_run(topic: str) -> None:
    flags = {setting.flag for setting in accepted_by("run")}
    assert set(re.findall(r"--[a-z-]+", PAGES[topic]())) <= flags


@pytest.mark.parametrize("topic", PAGES)
def test_each_page_is_printed_and_fits_80_columns(
    topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["help", topic]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 5
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("command", ["slo", "tune", "export"])
def test_an_option_that_is_missing_is_named_as_its_help_names_it(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "x"]) == 2
    named = set(re.findall(r"--[a-z]+", capsys.readouterr().err.partition(": see ")[0]))
    assert len(named - {"--help"}) == 1


@pytest.mark.parametrize("line", [*EXAMPLES, *(e for c in COMMANDS for e in c.examples)])
def test_every_example_is_understood(line: str) -> None:
    words = shlex.split(re.split(r" [|>] ", line)[0])
    assert words[0] == "graphlap"
    name, *rest = as_command(words[1:])
    parse(BY_NAME[name], rest)
