"""`ssh:HOST,HOST`: each host's agent is started by ssh and spoken to on its standard streams.

A host needs Graphlap with its runtimes, and a key that opens it without a question. How ssh is
called is its user's own matter (`~/.ssh/config`, or GRAPHLAP_SSH_COMMAND in place of `ssh`).
"""

from __future__ import annotations

import os
import re
import shlex

from app.carriers.contract import CarrierError
from app.carriers.piped import PipedCarrier

SCHEME = "ssh:"
COMMAND_VARIABLE = "GRAPHLAP_SSH_COMMAND"
_OPTIONS = ("-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")
_PROGRAM = "graphlap"
_HOST = re.compile(r"[A-Za-z0-9_\[][A-Za-z0-9._@:%\[\]-]*")
"""What can't be taken for an option of ssh's."""
_FORM = "write it as ssh:board1,pi@board2 or ssh:board1=/opt/graphlap/bin/graphlap"


def ssh_carrier(address: str) -> PipedCarrier:
    """A carrier to the hosts of `ssh:HOST[=PROGRAM],…`; CarrierError for what is no such address.

    `PROGRAM` is how Graphlap is called there, where `graphlap` is not enough.
    """
    given = [word.strip().partition("=") for word in address.removeprefix(SCHEME).split(",")]
    hosts = [host for host, _, _ in given]
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise CarrierError(f"{address!r:.80} names no host in {host!r:.40}", _FORM)
        if hosts.count(host) > 1:
            raise CarrierError(f"{address!r:.80} names {host} twice", "name it once")
    ssh = shlex.split(os.environ.get(COMMAND_VARIABLE, "")) or ["ssh"]
    names = _names(hosts)
    return PipedCarrier(
        {
            names[host]: (*ssh, *_OPTIONS, host, f"{program or _PROGRAM} worker --stdio")
            for host, _, program in given
        }
    )


def _names(hosts: list[str]) -> dict[str, str]:
    """What rows call them: without the user, unless two users are of one host."""
    short = {host: host.rpartition("@")[2] for host in hosts}
    return {
        host: name if list(short.values()).count(name) == 1 else host
        for host, name in short.items()
    }
