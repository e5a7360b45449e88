"""A command has one mode, and each option and path of it is read by that mode."""

from __future__ import annotations

import shlex

import pytest

from app.cases.errors import PlanError
from app.plan.command_line import parse
from app.plan.modes import MODES, Mode

MEASURE = "--headless --models mlp --runtimes fake"
VALUES = {"compare": "a b", "cache_info": "", "cache_clear": "", "list": "", "doctor": ""}


def flags_of(mode: str, flag: str) -> str:
    alone = ("install_desktop", "check", "headless")
    return f"{flag} {VALUES.get(mode, '' if mode in alone else 'a')}".strip()


PAIRS = [(first, second) for place, first in enumerate(MODES) for second in MODES[place + 1 :]]
TOGETHER = {
    ("cache_info", "cache_clear"),
    ("compare", "history"),
    ("imports", "headless"),
    ("merge", "headless"),
    ("study", "resume"),
    ("study", "headless"),
    ("resume", "headless"),
    ("check", "headless"),
}


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=[f"{a.key}-{b.key}" for a, b in PAIRS])
def test_two_modes_are_refused_unless_they_are_one_command(first: Mode, second: Mode) -> None:
    one, other = (flags_of(mode.key, mode.flag) for mode in (first, second))
    both = f"{one} {other}"
    if (first.key, second.key) in TOGETHER:
        parse(shlex.split(both))
        return
    with pytest.raises(PlanError, match="are two commands") as caught:
        parse(shlex.split(both))
    assert caught.value.remedy


@pytest.mark.parametrize(
    "command",
    [
        f"--compare a a {MEASURE}",
        "--compare a a --history hist --plot h.svg",
        "--report a --history hist",
        f"--merge a b {MEASURE}",
        "--resume a --check",
        "--study vollo --check",
        "--verify a --verify b",
        "--compare a b --compare c d",
        "--verify a b",
        "a --verify b",
        "--history runs more",
        "--doctor runs",
        "--headless runs/nets --models mlp",
        "--report a --export csv a",
        "--compare a b --batch nonsense",
        "--compare a b --out c",
        "--compare a b --plot c.svg",
        "--verify a --json v.json",
        "--verify a --fail-on slower",
        "--report a --fail-on slower",
        "--report a --markdown",
        "--export csv a --out b",
        "--export csv a --strict",
        "--list --models mlp",
        "--doctor --runtimes fake",
        "--doctor --insecure-cluster",
        "--doctor --cluster ssh:a --environment x=y",
        "--cache-info --out a",
        "--cache-clear --models mlp",
        "--install-desktop --suite starter",
        "--history runs --junit v.xml",
        "--history runs --markdown",
        "--history runs --rounds 9",
        "--import a.json --rounds 2",
        "--merge a b --band 3%",
        f"{MEASURE} --csv a.csv",
        f"{MEASURE} --any-host",
        f"{MEASURE} --format json",
        f"{MEASURE} --output a.html",
        "--models mlp --fail-on slower",
        "--models mlp --out run",
        "--export csv",
        "--verify ''",
        "--history ''",
        "--resume ''",
    ],
)
def test_what_a_mode_does_not_read_is_refused(command: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse(shlex.split(command))
    assert caught.value.remedy


@pytest.mark.parametrize(
    "command",
    [
        "",
        "runs/nets",
        "--models mlp --rounds 3 --budget 2m",
        "--list --suite layers --format csv",
        "--doctor --environment x=/usr/bin/python3",
        "--doctor --cluster tcp://a:8786 --insecure-cluster",
        "--cache-clear --cache-limit 1GiB --debug",
        "--compare a b --band 3% --fail-on slower --markdown --json v --junit w",
        "--history runs --band 3% --fail-on slower --any-host --json v --csv w --plot x",
        "--report a b -o c.html",
        "--export csv,json a b",
        "--headless --import a.json --out b --export csv --sort p99",
        "--merge a x=b --out c --export csv --sort p99",
        "--study vollo runs/vollo",
        "--resume a --baseline-run b --fail-on slower --strict --export csv",
        "--check --models mlp --markdown --strict --out a",
        f"{MEASURE} --baseline fake --fail-on slower --json v --junit w --plot x --strict",
    ],
)
def test_what_a_mode_reads_is_taken(command: str) -> None:
    parse(shlex.split(command))
