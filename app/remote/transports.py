"""The carrier that an address asks for, by its scheme; no carrier is imported before it is."""

from __future__ import annotations

from app.remote.contract import Carrier, CarrierError
from exporters import install_layout

LOCAL, SSH = "local:", "ssh:"
DASK = ("tls://", "tcp://")
MOST_LOCAL = 64
_FORMS = "write local:4, ssh:HOST,HOST or tls://SCHEDULER:8786"


def open_carrier(address: str, insecure: bool = False) -> Carrier:
    """CarrierError for an address of no carrier, or of one that can't be used.

    `insecure` lets a scheduler be spoken to without certificates. What holds processes or
    connections is the caller's to close.
    """
    if address.startswith(DASK):
        return _dask_carrier(address, insecure)
    if insecure:
        raise CarrierError(f"{address} has no certificates to do without", "remove it")
    if address.startswith(SSH):
        from app.remote.pipe_transport import ssh_carrier

        return ssh_carrier(address)
    if address.startswith(LOCAL):
        return _local(address)
    raise CarrierError(f"{address!r:.80} is no address of a cluster", _FORMS)


def _local(address: str) -> Carrier:
    """Agents as processes of this machine: for trying, since they take turns."""
    from app.remote.pipe_transport import PipedCarrier

    word = address.removeprefix(LOCAL)
    if not word.isdecimal() or not 1 <= int(word) <= MOST_LOCAL:
        raise CarrierError(
            f"{address!r:.80} has no number of workers", f"write local:N, N from 1 to {MOST_LOCAL}"
        )
    command = install_layout.starter_command("app.remote.worker", "--stdio")
    return PipedCarrier({f"local-{number + 1}": command for number in range(int(word))})


def _dask_carrier(address: str, insecure: bool) -> Carrier:
    try:
        made = install_layout.load("app.remote.dask_cluster.transport:DaskCarrier")
        carrier: Carrier = made(address, insecure)
    except ModuleNotFoundError as error:
        raise CarrierError(
            f"{address} needs {error.name}, not installed here", "pip install 'graphlap[cluster]'"
        ) from None
    return carrier
