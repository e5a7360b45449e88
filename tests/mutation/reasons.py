"""Why some mutants survive, by their line and change, as `survivors.toml` has it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.checkout import ROOT
from tests.mutation.sites import Mutant, mutants_of, root_path

FILE = Path(__file__).with_name("survivors.toml")


@dataclass(frozen=True, slots=True)
class Survivor:
    file: str
    line: str
    before: str
    after: str


def reason_of(mutant: Mutant) -> str:
    """The reason, or "" where it should be found."""
    return _reasons().get(_as_survivor(mutant), "")


def stale_reasons() -> list[Survivor]:
    """Those of lines or changes that no file has any more."""
    files = {ROOT / known.file for known in _reasons()}
    there = {_as_survivor(m) for file in files if file.is_file() for m in mutants_of(file)}
    return [known for known in _reasons() if known not in there]


@cache
def _reasons() -> dict[Survivor, str]:
    return dict(_read())


def _read() -> Iterator[tuple[Survivor, str]]:
    for entry in tomllib.loads(FILE.read_text("utf-8")).get("survivor", ()):
        reason = entry.pop("reason")
        yield Survivor(**entry), reason


def _as_survivor(mutant: Mutant) -> Survivor:
    return Survivor(root_path(mutant.file), mutant.text, mutant.before, mutant.after)
