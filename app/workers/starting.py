"""What processes that run a case do alike: find the runtime, and tell errors in our words."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from exporters.types import GraphlapError
from runtimes import registry
from runtimes.base import Available, Runtime, Session, Unavailable
from runtimes.faults import NotAvailable
from runtimes.options import Settings


def limit_threads(threads: int) -> None:
    """What engines read as they are loaded; 0 leaves the number to them."""
    if threads:
        os.environ["OMP_NUM_THREADS"] = str(threads)


def prepare(runtime: Runtime, settings: Settings) -> dict[str, str | None]:
    """Have this process's environment say what the runtime needs of it; what that is."""
    wanted = dict(runtime.environment(settings))
    for name, value in wanted.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    return wanted


def state_of(runtime: Runtime) -> Available:
    """The runtime's own word that it is here; NotAvailable if it is not."""
    state = runtime.availability()
    if isinstance(state, Unavailable):
        raise NotAvailable(state.reason, state.remedy)
    return state


def runtime_called(spec: str) -> Runtime:
    """The runtime of `name[:device][@release]`, whether it is here or not."""
    return registry.load(registry.parse_spec(spec).name)


@contextmanager
def in_our_words(session: Session) -> Iterator[None]:
    """`run` is the engine's own call and raises the engine's errors; the adapter knows them."""
    try:
        yield
    except (GraphlapError, OSError, MemoryError):
        raise
    except Exception as error:
        raise session.fault(error) from error
