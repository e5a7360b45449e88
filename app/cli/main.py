"""From words to a command: `graphlap COMMAND …`, and every error as one sentence and an exit code.

What is no command becomes one: a path or a model does, and so does the batch mode. `--headless …`
is `run …`; with `--study`, `--resume` or `--check` it is that command.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path

gc.set_threshold(50_000)
"""New objects between two searches for reference cycles. Importing our modules makes many without
a cycle, a run of thousands of cases millions: Python's usual 700 costs a tenth and a sixth."""

# ruff: noqa: E402 - after the threshold, since these import most
from app.cases.errors import DiskError, PlanError, suggestion
from app.cli.parsers import parse
from app.cli.table import BY_NAME
from app.machine.system import refuse_other_systems
from app.present.console.streams import ResilientStream, report, write_error_file
from exporters import install_layout
from exporters.types import FILE_ENDINGS, GraphlapError

_USER_ERRNOS = (errno.ENAMETOOLONG, errno.EMFILE, errno.ENFILE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; every error of ours is one sentence and an exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    _open_closed_streams()
    try:
        return _dispatch(words)
    except GraphlapError as error:
        if "--debug" in words:
            raise
        report(str(error), ResilientStream(sys.stderr))
        if isinstance(error, DiskError):
            return 1
        write_error_file(error)
        return 2
    except OSError as error:
        if error.errno == errno.ENOENT and not _has_current_folder():
            sentence = "the current folder was removed: change to another folder"
            report(sentence, ResilientStream(sys.stderr))
            return 2
        if "--debug" in words or error.errno not in _USER_ERRNOS:
            raise
        sentence = f"a process or a file can't be opened ({error.strerror}): raise ulimit -n"
        if error.errno == errno.ENAMETOOLONG:
            name = str(error.filename)
            sentence = f"a path of {len(name)} characters is too long ({name:.40}…)"
            sentence += ": give a shorter one"
        report(sentence, ResilientStream(sys.stderr))
        return 2
    except KeyboardInterrupt:
        return 130


def _has_current_folder() -> bool:
    try:
        return Path.cwd().is_dir()
    except FileNotFoundError:
        return False


def _dispatch(arguments: Sequence[str]) -> int:
    if arguments and arguments[0] in ("-h", "--help", "--version", "-V", "-v", "version"):
        from app.cli import help as pages

        return pages.print_short() if arguments[0] in ("-h", "--help") else pages.print_version()
    refuse_other_systems()
    try:
        name, *words = as_command(arguments)
    except NoCommand:
        from app.cli import help as pages

        return pages.print_short(sys.stderr)
    command = BY_NAME[name]
    options = parse(command, words)
    if options.no_color:
        os.environ["NO_COLOR"] = "1"
    code: int = install_layout.load(f"{command.module}:run_{name}")(options)
    return code


def _open_closed_streams() -> None:
    """A file of ours must not become the descriptor to which libraries print."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8", closefd=False))


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
    from app.cli.open import can_open

    return can_open()
