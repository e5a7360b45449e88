"""What worker processes share: a job in, event lines out, the runtime loaded, errors explained."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from app.machine.system import text_of
from exporters import install_layout
from exporters.codec import object_of, to_json
from exporters.install_layout import belong_to_parent
from exporters.types import ExportedModel, GraphlapError, is_of_system, named
from runtimes import registry
from runtimes.base import Available, Runtime, Session, Unavailable
from runtimes.errors import NotAvailable
from runtimes.options import Settings
from runtimes.registry import remedy_in

is_fork = False
"""Whether this process is one, of a template: memory that is the template's counts little here."""


def peak_rss_mb() -> float:
    """In MiB.

    What `getrusage` reports begins, on Linux, with what the process held that started this
    one, so that a small child of a large parent would look large.
    """
    for line in (text_of(Path("/proc/self/status")) or "").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def reason_of(error: Exception) -> str:
    """The error's sentence; in another environment what it asks for is to be installed there."""
    if not isinstance(error, GraphlapError):
        return unforeseen(error)
    if install_layout.STARTER in os.environ:
        return remedy_in(sys.executable, str(error))
    return str(error)


def is_transient(error: Exception) -> bool:
    """Whether circumstances led to the error: another try may succeed where nothing was changed."""
    return isinstance(error, MemoryError) or is_of_system(error)


def unforeseen(error: Exception) -> str:
    """The type and the first line of an error that is none of ours; all of it on standard error."""
    traceback.print_exception(error, file=sys.stderr)
    return named(error)


def serve(
    answer: Callable[[dict[str, Any], Callable[[dict[str, Any]], None]], Any],
    goes_on: Callable[[dict[str, Any], Any], bool] = lambda job, result: False,
) -> int:
    """Read one job line, send what `answer` tells as events, and its result as the last one, with
    the most memory that the process has held; after a result that `goes_on`, another."""
    belong_to_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is the parent's to handle
    events = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    line = sys.stdin.buffer.readline()
    if not line.strip():
        sys.stderr.write("this process reads one job from standard input\n")
        return 2
    while line.strip():
        job = json.loads(line)
        result = answer(job, lambda event: _tell(events, event))
        _tell(events, {"event": "result", "rss_peak_mb": peak_rss_mb(), **to_json(result)})
        line = sys.stdin.buffer.readline() if goes_on(job, result) else b""
    # Engines' exit handlers can crash or hang after all is said; nothing is left to flush.
    sys.stderr.flush()
    os._exit(0)


def next_message() -> dict[str, Any]:
    """What the parent sends next, once it does; empty for a request to stop."""
    return object_of(sys.stdin.buffer.readline().decode())


class StopRequest:
    """True once the parent wrote a line or closed our input; asked only between blocks."""

    def __init__(self) -> None:
        self._is_requested = False

    def __call__(self) -> bool:
        if not self._is_requested:
            readable, _, _ = select.select([0], [], [], 0)
            self._is_requested = bool(readable)
        return self._is_requested


def _tell(events: BinaryIO, event: dict[str, Any]) -> None:
    try:
        events.write(json.dumps(event).encode() + b"\n")
    except BrokenPipeError:
        os._exit(1)


def limit_threads(threads: int) -> None:
    """What engines read as they are loaded; 0 leaves the number to them."""
    if threads:
        os.environ["OMP_NUM_THREADS"] = str(threads)


def prepare(runtime: Runtime, settings: Settings) -> dict[str, str | None]:
    """Have this process's environment say what the runtime needs of it; what that is."""
    variables = dict(runtime.environment(settings))
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    return variables


def state_of(runtime: Runtime) -> Available:
    """The runtime's own word that it is here; NotAvailable if it is not."""
    state = runtime.availability()
    if isinstance(state, Unavailable):
        raise NotAvailable(state.reason, state.remedy)
    return state


def runtime_of_spec(spec: str) -> Runtime:
    """The runtime of `name[:device][@release]`, whether it is here or not."""
    return registry.load(registry.parse_spec(spec).name)


def load_for(runtime: Runtime, model: ExportedModel, settings: Settings) -> None:
    """Have the engine ready to compile a model; NotAvailable or Unsupported where it can't."""
    prepare(runtime, settings)
    state_of(runtime)
    runtime.refuse(model, model.axes, settings)
    runtime.load()


@contextmanager
def translate_errors(session: Session) -> Iterator[None]:
    """Raise the engine's own errors as the adapter of the session names them."""
    try:
        yield
    except (GraphlapError, OSError, MemoryError):
        raise
    except Exception as error:
        raise session.fault(error) from error
