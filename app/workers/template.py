"""The process that is forked to measure: `python -m app.workers.template ENGINE THREADS`.

Standard input is a socket: each message brings the three streams of a fork, and is answered with
`forked PID`, later with `ended PID CODE`. Only a process with one thread is forked, since others
would be missing in the fork, with the locks that they held.
"""

from __future__ import annotations

import gc
import os
import selectors
import socket
import sys
from pathlib import Path

from exporters import install_layout
from exporters.install_layout import belong_to_parent

_BLAS = "OPENBLAS_NUM_THREADS"
"""By which numpy starts no threads as it is imported."""
_THREADS = Path("/proc/self/task")


def main() -> int:
    """Until the socket is closed (0), or there is more than one thread (1)."""
    belong_to_parent()
    engine, threads = sys.argv[1], int(sys.argv[2])
    notes = socket.socket(fileno=os.dup(0))
    before = os.environ.get(_BLAS)
    os.environ[_BLAS] = "1"
    from app.workers import measure, process
    from runtimes import registry

    if before is None:
        del os.environ[_BLAS]
    else:
        os.environ[_BLAS] = before
    process.limit_threads(threads)
    for name in registry.RUNTIMES:  # without the engines, most of which start threads
        registry.load(name)
    if engine:
        registry.load(engine).load()
    os.environ[install_layout.PARENT] = str(os.getpid())
    # A fork that collects would copy every page that an object of ours lies in.
    gc.collect()
    gc.freeze()
    with selectors.EpollSelector() as selector:
        selector.register(notes, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is notes:
                    _, streams, _, _ = socket.recv_fds(notes, 16, 3)
                    if not streams:
                        return 0
                    if len(list(_THREADS.iterdir())) > 1:
                        return 1
                    pid = os.fork()
                    if not pid:
                        _become_child(streams, _open_in(selector))
                        belong_to_parent()
                        with notes:
                            notes.send(f"forked {os.getpid()}".encode())
                        process.is_fork = True
                        return measure.main()
                    for stream in streams:
                        os.close(stream)
                    selector.register(os.pidfd_open(pid), selectors.EVENT_READ, pid)
                else:
                    _, status = os.waitpid(key.data, 0)
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    notes.send(f"ended {key.data} {os.waitstatus_to_exitcode(status)}".encode())


def _open_in(selector: selectors.EpollSelector) -> list[int]:
    keys = selector.get_map().values()
    return [selector.fileno(), *(key.fd for key in keys if key.data is not None)]


def _become_child(streams: list[int], inherited: list[int]) -> None:
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for descriptor in (*streams, *inherited):
        os.close(descriptor)


if __name__ == "__main__":
    sys.exit(main())
