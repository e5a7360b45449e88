"""The carrier that an address asks for, by its scheme, and the hosts that it leads to."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from app.machine.environment import graphlap_version
from app.remote.facts import Host
from app.remote.link import HostError, Link
from app.remote.ssh import LOCAL, SSH, local_carrier, ssh_carrier
from exporters import install_layout
from exporters.codec import CodecError, from_json

DASK = ("tls://", "tcp://")
_FORMS = "write local:4, ssh:HOST,HOST or tls://SCHEDULER:8786"
ANSWER_S = 60.0
_LOOK_S = 0.02


class Carrier(Protocol):
    """Leads to hosts. `names` are what rows call those that can be reached now."""

    @property
    def names(self) -> tuple[str, ...]: ...

    def open(self, host: str, ring: Callable[[], None], measures: bool = True) -> Link:
        """A link to a new process on a host, which may be busy unless it `measures`; HostError
        where there is no way to it."""

    def close(self) -> None:
        """Let the hosts go; idempotent."""


def open_carrier(address: str, insecure: bool = False) -> Carrier:
    """HostError for an address of no carrier, or of one that can't be used.

    `insecure` lets a scheduler be spoken to without certificates. What holds processes or
    connections is the caller's to close.
    """
    if address.startswith(DASK):
        try:
            carrier: Carrier = install_layout.load("app.remote.fleet.carrier:FleetCarrier")(
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
        return ssh_carrier(address)
    if address.startswith(LOCAL):
        return local_carrier(address)
    raise HostError(f"{address!r:.80} is no address of a cluster", _FORMS)


def ask_hosts(carrier: Carrier) -> tuple[Host, ...]:
    """What every host is, asked at once; HostError names those that can't be reached, and those of
    another release."""
    links = [carrier.open(name, lambda: None, measures=False) for name in carrier.names]
    if not links:
        raise HostError("no worker is there", "start one: graphlap worker")
    try:
        for link in links:
            link.send({"doctor": link.host})
        return _answers(links)
    finally:
        for link in links:
            link.lose("it was let go")


def _answers(links: Sequence[Link]) -> tuple[Host, ...]:
    hosts: dict[str, Host] = {}
    until_s = time.monotonic() + ANSWER_S
    while len(hosts) < len(links):
        for link in links:
            for values, _ in link.take():
                if "graphlap" in values:
                    refuse_release(link.host, values["graphlap"])
                elif "host" in values:
                    hosts[link.host] = _parsed(link.host, values["host"])
            if time.monotonic() > until_s and link.host not in hosts:
                link.lose(f"no Graphlap answered within {ANSWER_S:g} s")
        lost = [link for link in links if link.lost and link.host not in hosts]
        if len(lost) + len(hosts) == len(links) and lost:
            raise HostError(
                "; ".join(f"{link.host}: {link.lost}" for link in lost),
                "see that `graphlap worker --stdio` runs there",
            )
        time.sleep(_LOOK_S)
    return tuple(hosts[link.host] for link in links)


def refuse_release(host: str, release: object) -> None:
    """HostError where a host has another Graphlap than this machine."""
    local_version = graphlap_version()
    if release != local_version:
        raise HostError(
            f"{host} has Graphlap {release!s:.40} and this machine has {local_version}",
            "install the same on both",
        )


def _parsed(name: str, values: object) -> Host:
    try:
        return replace(from_json(Host, values), name=name)
    except CodecError as error:
        raise HostError(
            f"{name} sends what can't be parsed ({error})", "install the same Graphlap there"
        ) from None
