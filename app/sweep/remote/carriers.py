"""The carrier that an address asks for, by its scheme, and the hosts that it leads to: by ssh, by a
scheduler of Dask's, or processes of this machine, for trying."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any, Protocol

from app.machine.child import Bell, Child
from app.sweep.remote.host import Host
from app.sweep.remote.link import HostError, Link
from exporters import install_layout
from exporters.codec import CodecError, from_json

DASK, SSH, LOCAL = ("tls://", "tcp://"), "ssh:", "local:"
MOST_LOCAL = 64
COMMAND_VARIABLE = "GRAPHLAP_SSH_COMMAND"
ANSWER_S = 60.0
CLOCK_OFF_S = 2.0
"""Clocks that differ by more are told of: times of rows are those of their hosts."""
_OPTIONS = ("-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")
_HOST = re.compile(r"[A-Za-z0-9_\[][A-Za-z0-9._@:%\[\]-]*")
"""What can't be taken for an option of ssh's."""


class Carrier(Protocol):
    """Leads to hosts. `names` are what rows call those that can be reached now."""

    names: tuple[str, ...]

    def open(self, host: str, bell: Bell, measures: bool = True) -> Link:
        """A link to a new process on a host, which may be busy unless it `measures`; HostError
        where there is no way to it."""

    def close(self) -> None:
        """Let the hosts go; idempotent."""


class PipeCarrier:
    """`commands` start a host's process, by the names that rows call the hosts."""

    def __init__(self, commands: Mapping[str, Sequence[str]]) -> None:
        self.names = tuple(commands)
        self._commands = commands

    def open(self, host: str, bell: Bell, measures: bool = True) -> Link:
        command = self._commands[host]
        try:
            return Link(host, Child(command, bell))
        except OSError as error:
            raise HostError(
                f"{command[0]} can't be started ({error.strerror})",
                "install it, or correct the path",
            ) from None

    def close(self) -> None:
        """Nothing outlives its links."""


def open_carrier(address: str, insecure: bool = False) -> Carrier:
    """HostError for an address of no carrier, or of one that can't be used.

    `insecure` lets a scheduler be spoken to without certificates. What holds processes or
    connections is the caller's to close.
    """
    if address.startswith(DASK):
        try:
            carrier: Carrier = install_layout.load("app.sweep.remote.fleet.carrier:FleetCarrier")(
                address, insecure
            )
        except ModuleNotFoundError as error:
            raise HostError(
                f"{address} needs {error.name}, not installed here",
                "pip install 'graphlap[cluster]'",
            ) from None
        return carrier
    if insecure:
        raise HostError(f"{address} has no certificates to do without", "remove it")
    if address.startswith(SSH):
        return PipeCarrier(_ssh_commands(address))
    if address.startswith(LOCAL):
        return PipeCarrier(_local_commands(address))
    raise HostError(
        f"{address!r:.80} is no address of a cluster",
        "write local:4, ssh:HOST,HOST or tls://SCHEDULER:8786",
    )


def _ssh_commands(address: str) -> Mapping[str, Sequence[str]]:
    """Of `ssh:HOST,USER@HOST=PROGRAM`; HostError."""
    parts = [part.strip().partition("=") for part in address.removeprefix(SSH).split(",")]
    hosts = [host for host, _, _ in parts]
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise HostError(
                f"{address!r:.80} names no host in {host!r:.40}",
                "write it as ssh:board1,pi@board2 or ssh:board1=/opt/graphlap/bin/graphlap",
            )
        if hosts.count(host) > 1:
            raise HostError(f"{address!r:.80} names {host} twice", "name it once")
    ssh = shlex.split(os.environ.get(COMMAND_VARIABLE, "")) or ["ssh"]
    short = [host.rpartition("@")[2] for host in hosts]
    # Rows call a host without the user, unless two users are of one.
    return {
        name if short.count(name) == 1 else host: (
            *(*ssh, *_OPTIONS, host, f"{program or 'graphlap'} worker --stdio"),
        )
        for name, (host, _, program) in zip(short, parts, strict=True)
    }


def _local_commands(address: str) -> Mapping[str, Sequence[str]]:
    """Of `local:N`: processes of this machine, which take turns; HostError."""
    word = address.removeprefix(LOCAL)
    if not word.isdecimal() or not 1 <= int(word) <= MOST_LOCAL:
        raise HostError(
            f"{address!r:.80} has no number of workers", f"write local:N, N from 1 to {MOST_LOCAL}"
        )
    command = install_layout.starter_command("app", "worker", "--stdio")
    return {f"local-{number + 1}": command for number in range(int(word))}


def ask_hosts(carrier: Carrier) -> tuple[Host, ...]:
    """What every host is, asked at once; HostError names those that can't be reached, and those of
    another release."""
    links: list[Link] = []
    hosts: dict[str, Host] = {}
    with closing(Bell()) as bell, ExitStack() as opened:
        start_ns, until_s = time.time_ns(), time.monotonic() + ANSWER_S
        for name in carrier.names:
            links.append(carrier.open(name, bell, measures=False))
            opened.callback(links[-1].lose, "it was let go")
            links[-1].send({"doctor": name})
        while waiting := [link for link in links if not link.lost and link.host not in hosts]:
            for link in waiting:
                for values in link.take():
                    if "host" in values:
                        hosts[link.host] = _parsed(link.host, values["host"], start_ns)
                if time.monotonic() > until_s and link.host not in hosts:
                    link.lose(f"no Graphlap answered within {ANSWER_S:g} s")
            bell.wait(1.0)
    if lost := [f"{link.host}: {link.lost}" for link in links if link.host not in hosts]:
        raise HostError("; ".join(lost), "see that `graphlap worker --stdio` runs there")
    return tuple(hosts[link.host] for link in links)


def _parsed(name: str, values: Any, start_ns: int) -> Host:
    """The host that was asked at this moment; its clock was read since, if both are right."""
    try:
        host = from_json(Host, values)
    except CodecError as error:
        raise HostError(
            f"{name} sends what can't be parsed ({error})", "install the same Graphlap there"
        ) from None
    off_s = (host.utc_ns - min(max(host.utc_ns, start_ns), time.time_ns())) / 1e9
    return replace(host, name=name, clock_off_s=off_s if abs(off_s) > CLOCK_OFF_S else 0.0)
