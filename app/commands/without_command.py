"""Command lines without a command: a path or a model becomes one, and so does the batch mode.

`--headless …` is `run …`; with `--study`, `--resume` or `--check` it is that command.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from app.cases.errors import PlanError, suggestion
from app.commands.table import BY_NAME
from exporters.types import FILE_ENDINGS

BATCH_MODE = "--headless"
_COMMANDS = ("--study", "--resume", "--check")
_MODEL_ENDINGS = (*FILE_ENDINGS, ".toml")


class NoCommand(Exception):
    """A command line without words, where no window can be opened."""


def as_command(arguments: Sequence[str]) -> tuple[str, ...]:
    """The words with a command first; NoCommand, or PlanError for a first word that is none."""
    if arguments and arguments[0] in BY_NAME:
        return tuple(arguments)
    if BATCH_MODE in arguments:
        return _batch([word for word in arguments if word != BATCH_MODE])
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


def _batch(words: Sequence[str]) -> tuple[str, ...]:
    """`run` with these words, or the command that one of them is the flag of, its value first."""
    for place, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag in _COMMANDS:
            behind = words[place + 1 :]
            values = (value, *behind) if equals else behind
            return (flag.removeprefix("--"), *values, *words[:place])
    return ("run", *words)


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
