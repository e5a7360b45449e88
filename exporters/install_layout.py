"""Layout of this installation: its modules, assets and extensions, and child processes, from their
commands to their setup.

In a checkout `app`, `assets`, `exporters` and `runtimes` are packages of their own; a wheel holds
them inside `graphlap`, so that it owns one name in site-packages. Import statements are rewritten
when the wheel is built; a module that is named in a string goes through here.

A child must find our packages and no others. The current folder and the user's PYTHONPATH may hold
an `app/` or a `numpy.py`, so it is started with neither: `boot.py` puts our own root in front. A
child of another environment finds our packages alone.

A child ends with its parent, however that ends, and is the first to be ended where memory is short.
Libraries and a user's own file print to standard output, C ones to its descriptor, and may read
standard input: requests and replies therefore have descriptors of their own.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    import subprocess


PREFIX = __name__.removesuffix("exporters.install_layout")
"""What stands before the name of each of our packages: nothing, or `graphlap.`."""
PROGRAM = "graphlap" if PREFIX else "python -m app"
"""What a user types to start us."""
ROOT = Path(__file__).parents[1 + PREFIX.count(".")]
"""The folder that our outermost packages lie in."""
USER_PATH = "GRAPHLAP_PYTHONPATH"
"""Where a child finds what the user's PYTHONPATH was."""
PARENT = "GRAPHLAP_PARENT"
"""The process that a child belongs to, by its number."""
STARTER = "GRAPHLAP_PYTHON"
"""In a child of another environment: the interpreter that started it, which has all we need."""
SUFFIX = "GRAPHLAP_EXTENSION_SUFFIX"
"""In such a child: how the files of our compiled extensions end. They are plain C, loaded by
ctypes, so that those which the starter has serve every release of Python."""
COMPILER_REMEDY = "install a C compiler, then install graphlap again so that its extension is built"
"""What brings an extension that was not built."""

_BOOT = str(Path(__file__).with_name("boot.py"))


def module_name(name: str) -> str:
    """The full name of one of our modules, called as in a checkout: `app.workers.measure`."""
    return PREFIX + name


def load(target: str) -> Any:
    """What `package.module:attribute` of ours names."""
    module, _, attribute = target.partition(":")
    return getattr(import_module(module_name(module)), attribute)


def answer_to_our_name() -> None:
    """Let `graphlap` be us in this process, so that who imports it gets the modules that run.

    A checkout is not called so, and a wheel of another edition may be installed beside it.
    """
    if not PREFIX:
        sys.modules.setdefault("graphlap", import_module("app.api"))


def asset(*path: str) -> Traversable:
    """A file or a folder of `assets`."""
    return files(module_name("assets")).joinpath(*path)


def extension(name: str) -> Path | None:
    """The file of one of our compiled extensions, as `runtimes.calls._timed`; None if not built."""
    module = ROOT.resolve().joinpath(*module_name(name).split("."))
    suffixes = [os.environ[SUFFIX]] if SUFFIX in os.environ else EXTENSION_SUFFIXES
    paths = (module.with_name(f"{module.name}{suffix}") for suffix in suffixes)
    return next((path for path in paths if path.is_file()), None)


def command(module: str, *arguments: str, python: str = "") -> tuple[str, ...]:
    """The command line of a child that runs one of our modules, wherever it is started.

    `python` is the interpreter of another environment, whose packages the child has beside ours;
    empty for the environment of this process.
    """
    starter = os.environ.get(STARTER, "")
    if not python and not starter:
        return starter_command(module, *arguments)
    suffix = os.environ.get(SUFFIX) or EXTENSION_SUFFIXES[0]
    where = f"for:{suffix}:{starter or sys.executable}"
    return _boot_command(python or sys.executable, where, module, arguments)


def starter_command(module: str, *arguments: str) -> tuple[str, ...]:
    """The same by the interpreter that a user started us with, wherever this process runs."""
    python = os.environ.get(STARTER) or sys.executable
    return _boot_command(python, "last" if PREFIX else "first", module, arguments)


def _boot_command(
    python: str, where: str, module: str, arguments: tuple[str, ...]
) -> tuple[str, ...]:
    return (python, "-P", _BOOT, where, str(ROOT), module_name(module), *arguments)


def child_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of a child: this one, PYTHONPATH under a name that Python does not heed."""
    variables = {name: value for name, value in environ.items() if name != "PYTHONPATH"}
    if environ.get("PYTHONPATH"):
        variables[USER_PATH] = environ["PYTHONPATH"]
    return variables


def run_child(
    command: Sequence[str],
    question: str = "",
    environment: Mapping[str, str] | None = None,
    time_limit_s: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """A child that was told this and has ended, with what it wrote; TimeoutExpired after the
    limit. `environment` is that of a child unless another is given."""
    import subprocess

    return subprocess.run(
        command,
        input=question,
        capture_output=True,
        text=True,
        errors="replace",
        env=environment or child_environment(),
        timeout=time_limit_s,
        check=False,
    )


def add_user_path() -> None:
    """Let this process import from the user's PYTHONPATH, after everything else.

    Only for a process that is about to run a file of the user's.
    """
    for folder in os.environ.get(USER_PATH, "").split(os.pathsep):
        if folder and folder not in sys.path:
            sys.path.append(folder)


_PR_SET_PDEATHSIG = 1


def requests_and_replies() -> tuple[TextIO, Callable[[Any], None]]:
    """What arrives on standard input, and how to write one JSON value to standard output.

    From then on standard input is empty, and standard output goes where errors go.
    """
    belong_to_parent()
    source, target = taken_streams()
    requests = os.fdopen(source, "r", encoding="utf-8")
    replies = os.fdopen(target, "w", encoding="utf-8")

    def reply(value: Any) -> None:
        # Whatever else was written to our descriptor ends with its own line.
        replies.write(f"\n{json.dumps(value)}\n")
        replies.flush()

    return requests, reply


def taken_streams() -> tuple[int, int]:
    """Descriptors of what standard input and output were: from then on the former is empty, and the
    latter goes where errors go."""
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, target


def belong_to_parent() -> None:
    """Ask Linux to end this process with its parent, and before others where memory is short.

    Elsewhere the end of its input ends it.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        parent = str(os.getppid())
        if os.environ.get(PARENT, parent) != parent:  # it died before that was asked
            os._exit(1)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", "ascii")
