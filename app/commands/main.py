"""From words to a command: `graphlap COMMAND …`, and every error as one sentence and an exit code.

What is no command becomes one (`app.commands.without_command`): a path, a model, `--headless`.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from app.cases.errors import DiskError
from app.commands.parsers import module_of, parse
from app.commands.table import BY_NAME
from app.commands.without_command import NoCommand, as_command
from app.console.streams import ResilientStream, report, write_error_file
from app.machine.system import refuse_other_systems
from exporters.types import GraphlapError

_COLLECTED_AFTER = 50_000
"""New objects between two searches for reference cycles. A run of thousands of cases is millions
of small values without cycles, and Python's usual 700 costs a sixth of reading them."""
_USER_ERRNOS = (errno.ENAMETOOLONG, errno.EMFILE, errno.ENFILE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; every error of ours is one sentence and an exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    gc.set_threshold(_COLLECTED_AFTER)
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
        from app.commands import help as pages

        return pages.print_short() if arguments[0] in ("-h", "--help") else pages.print_version()
    refuse_other_systems()
    try:
        name, *words = as_command(arguments)
    except NoCommand:
        from app.commands import help as pages

        return pages.print_short(sys.stderr)
    command = BY_NAME[name]
    options = parse(command, words)
    if options.no_color:
        os.environ["NO_COLOR"] = "1"
    code: int = module_of(command).run(options)
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


if __name__ == "__main__":
    sys.exit(main())
