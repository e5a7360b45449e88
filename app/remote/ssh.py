"""Hosts reached by ssh, and processes of this machine in their place, for trying."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence

from app.remote.link import HostError, Link, PipeLink
from exporters import install_layout

SSH, LOCAL = "ssh:", "local:"
MOST_LOCAL = 64
COMMAND_VARIABLE = "GRAPHLAP_SSH_COMMAND"
_OPTIONS = ("-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")
_HOST = re.compile(r"[A-Za-z0-9_\[][A-Za-z0-9._@:%\[\]-]*")
"""What can't be taken for an option of ssh's."""
_FORM = "write it as ssh:board1,pi@board2 or ssh:board1=/opt/graphlap/bin/graphlap"


class PipeCarrier:
    """`commands` start a host's process, by the names that rows call the hosts."""

    def __init__(self, commands: Mapping[str, Sequence[str]]) -> None:
        self._commands = commands

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._commands)

    def open(self, host: str, ring: Callable[[], None], measures: bool = True) -> Link:
        """A link to a new process on the host; HostError where it can't be started."""
        return PipeLink(host, self._commands[host], ring)

    def close(self) -> None:
        """Nothing outlives its links."""


def ssh_carrier(address: str) -> PipeCarrier:
    """The hosts of `ssh:HOST[=PROGRAM],…`; HostError for what is no such address.

    `PROGRAM` is how Graphlap is called there, where `graphlap` is not enough.
    """
    parts = [word.strip().partition("=") for word in address.removeprefix(SSH).split(",")]
    hosts = [host for host, _, _ in parts]
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise HostError(f"{address!r:.80} names no host in {host!r:.40}", _FORM)
        if hosts.count(host) > 1:
            raise HostError(f"{address!r:.80} names {host} twice", "name it once")
    ssh = shlex.split(os.environ.get(COMMAND_VARIABLE, "")) or ["ssh"]
    short = [host.rpartition("@")[2] for host in hosts]
    # Rows call a host without the user, unless two users are of one.
    names = [
        name if short.count(name) == 1 else host for name, host in zip(short, hosts, strict=True)
    ]
    return PipeCarrier(
        {
            name: (*ssh, *_OPTIONS, host, f"{program or 'graphlap'} worker --stdio")
            for name, (host, _, program) in zip(names, parts, strict=True)
        }
    )


def local_carrier(address: str) -> PipeCarrier:
    """`local:N`: N hosts that are processes of this machine, which take turns; HostError."""
    word = address.removeprefix(LOCAL)
    if not word.isdecimal() or not 1 <= int(word) <= MOST_LOCAL:
        raise HostError(
            f"{address!r:.80} has no number of workers", f"write local:N, N from 1 to {MOST_LOCAL}"
        )
    command = install_layout.starter_command("app", "worker", "--stdio")
    return PipeCarrier({f"local-{number + 1}": command for number in range(int(word))})
