"""Command lines without a command: what was a mode flag, a path or a model becomes a command.

Every command line that was documented before there were commands keeps its meaning:
`--compare A B` is `compare A B`, `--headless …` is `run …`. Two modes in one line become one
command with the flag of the other, which that command's parser refuses.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.cases.errors import PlanError, suggestion
from app.commands.table import BY_NAME
from exporters.types import FILE_ENDINGS

_REST = -1


@dataclass(frozen=True, slots=True)
class _Mode:
    """A flag that was a mode, the command, and how many arguments follow the flag."""

    flag: str
    command: tuple[str, ...]
    arguments: int = 0


_MODES = (
    _Mode("--list", ("models",)),
    _Mode("--doctor", ("doctor",)),
    _Mode("--install-desktop", ("open", "--install-desktop")),
    _Mode("--cache-clear", ("cache", "clear")),
    _Mode("--cache-info", ("cache", "info")),
    _Mode("--compare", ("compare",), 2),
    _Mode("--verify", ("verify",), 1),
    _Mode("--show", ("show",), 1),
    _Mode("--report", ("report",), _REST),
    _Mode("--import", ("import",), _REST),
    _Mode("--merge", ("merge",), _REST),
    _Mode("--study", ("study",), 1),
    _Mode("--resume", ("resume",), 1),
    _Mode("--check", ("check",)),
    _Mode("--headless", ("run",)),
    _Mode("--history", ("history",), 1),
)
"""In this order one is found; a flag after it may be an option of that command."""
MODE_FLAGS = tuple(mode.flag for mode in _MODES)
_REDUNDANT_MODES = {
    "import": ("--headless",),
    "merge": ("--headless",),
    "study": ("--headless",),
    "resume": ("--headless",),
    "check": ("--headless",),
    "cache": ("--cache-info",),
}
"""Modes that went together with another one, and say no more than it."""
_RENAMED_FLAGS = {"--markdown": ("-f", "markdown")}
_CACHE_FLAGS = {"--cache-limit": ("--limit",)}
_MODEL_ENDINGS = (*FILE_ENDINGS, ".toml")


class NoCommand(Exception):
    """A command line without words, where no window can be opened."""


def as_command(arguments: Sequence[str]) -> tuple[str, ...]:
    """The words with a command first; NoCommand, or PlanError for a first word that is none."""
    if arguments and arguments[0] in BY_NAME:
        return tuple(arguments)
    mode = _mode(arguments)
    if mode is not None:
        return tuple(_translate(arguments, mode))
    if "--export" in arguments and _paths(arguments):
        return _export(arguments)
    if not arguments:
        if _has_window():
            return ("open",)
        raise NoCommand
    first = arguments[0]
    if first.startswith("-"):
        return ("open", *arguments)
    if Path(first).is_dir() and not _has_models(Path(first)):
        return ("open" if _has_window() or len(arguments) > 1 else "show", *arguments)
    if _is_model(first):
        return ("run", *arguments)
    raise PlanError(
        f"{first}: neither a command nor a file", suggestion(first, BY_NAME, "See graphlap help")
    )


def note(arguments: Sequence[str], words: Sequence[str]) -> str:
    """The command line as it is written now, for one with a flag that was a mode.

    Lines with `--headless` alone stay as they are in scripts: only a person at a terminal reads of
    the other spelling.
    """
    if _mode(arguments) is None and not (words[0] == "export" and words[0] not in arguments):
        return ""
    if words[0] == "run" and not sys.stderr.isatty():
        return ""
    from app.plan.command import graphlap_line

    return f"this is now written: {graphlap_line(*words)}"


def _mode(arguments: Sequence[str]) -> _Mode | None:
    if arguments and arguments[0] in BY_NAME:
        return None
    flags = {word.partition("=")[0] for word in _options(arguments)}
    return next((mode for mode in _MODES if mode.flag in flags), None)


def _options(arguments: Sequence[str]) -> Iterator[str]:
    for word in arguments:
        if word == "--":
            return
        yield word


def _translate(words: Sequence[str], mode: _Mode) -> Iterator[str]:
    """The command, the arguments of its flag, and the other words in their order."""
    place = next(i for i, word in enumerate(words) if word.partition("=")[0] == mode.flag)
    _, equals, value = words[place].partition("=")
    end = place + 1 + (mode.arguments if mode.arguments != _REST else 0)
    if equals:
        arguments, end = [value], place + 1
    elif mode.arguments == _REST:
        while end < len(words) and not words[end].startswith("-"):
            end += 1
        arguments = list(words[place + 1 : end])
    else:
        arguments = list(words[place + 1 : end])
    command = mode.command[0]
    yield from (*mode.command, *arguments)
    replacements = _RENAMED_FLAGS | (_CACHE_FLAGS if command == "cache" else {})
    for word in (*words[:place], *words[end:]):
        flag, equals, value = word.partition("=")
        if word in _REDUNDANT_MODES.get(command, ()):
            continue
        yield from (
            (*replacements[flag], *([value] if equals else [])) if flag in replacements else (word,)
        )


def _export(arguments: Sequence[str]) -> tuple[str, ...]:
    place = arguments.index("--export")
    formats, rest = arguments[place + 1 : place + 2], (*arguments[:place], *arguments[place + 2 :])
    return ("export", *rest, "-f", *formats)


def _paths(arguments: Sequence[str]) -> list[str]:
    """The words that are no option and no option's value, of a line with `--export FORMATS`."""
    return [
        word
        for previous, word in zip(("", *arguments), arguments, strict=False)
        if not word.startswith("-") and previous not in ("--export", "--columns")
    ]


def _is_model(word: str) -> bool:
    """Whether a first word is what `run` measures: a file, a pattern, a name of the catalogue."""
    if word.endswith(_MODEL_ENDINGS) or ":" in word or "*" in word or Path(word).exists():
        return True
    from app.plan.plan_files import suite_names
    from exporters.models import catalogue

    names = (*catalogue.names(), *suite_names())
    return all(part in names for part in word.split(","))


def _has_models(folder: Path) -> bool:
    """Whether a folder has models and is no run, in which exported ones may lie."""
    from app.run_folder.manifest import MANIFEST

    return any(folder.glob("*.onnx")) and not (folder / MANIFEST).exists()


def _has_window() -> bool:
    from app.commands.open import can_open

    return can_open()
