"""The address of a Dask scheduler, the certificates of both ends, and Dask's settings here."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

from distributed.security import Security

from app.remote.link import HostError

PORT = 8786
"""Dask's own."""
RESOURCE = "measure"
"""Each worker has one of it, each share needs one: whoever else sends tasks waits for it too."""
_HOW = "see docs/cluster.md for how to make one"
CLIENT = {
    "distributed.client.scheduler-info-interval": "1h",
    "distributed.admin.tick.interval": "2s",  # else it wakes 50 times a second
    "distributed.admin.tick.limit": "60s",  # else it takes a rare check for a hanging loop
    "distributed.admin.tick.cycle": "60s",
    "distributed.worker.profile.enabled": False,  # else it takes its own stack 100 times a second
    "distributed.admin.system-monitor.interval": "1h",  # else it reads /proc twice a second
    "distributed.admin.system-monitor.disk": False,
    "distributed.admin.system-monitor.gil.enabled": False,
}
WORKER = {
    **CLIENT,
    "distributed.diagnostics.nvml": False,  # else it queries the measured GPU
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,  # else it takes no task while it is large
    "distributed.worker.memory.terminate": False,  # a measuring process has its own limit
    "distributed.worker.http.routes": [],
}


def checked_address(text: str, insecure: bool = False) -> str:
    """`tls://HOST:PORT` of a scheduler; HostError for another form, and for a plain one elsewhere.

    `insecure` lets the plain one pass.
    """
    try:
        parts = urlsplit(text)
        scheme, host, port = parts.scheme, parts.hostname or "", parts.port or PORT
    except ValueError:
        scheme = host = ""
    if scheme not in ("tls", "tcp") or not host:
        raise HostError(f"{text!r:.80} is no address of a scheduler", "write it as tls://HOST:8786")
    address = f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
    if scheme == "tcp" and not is_here(host) and not insecure:
        raise HostError(
            f"{address} is refused: every process that reaches a plain Dask port can run "
            "code there, since it unpickles what it receives",
            "use tls:// with certificates (docs/cluster.md), or --insecure-cluster in a network "
            "that no one else uses",
        )
    return address


def is_here(host: str) -> bool:
    """Whether it is the loopback: `localhost`, 127.0.0.0/8 or ::1."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_security(role: Literal["client", "worker"], address: str) -> None:
    """HostError for a certificate that Dask's configuration lacks, or that is none."""
    if address.startswith("tcp:"):
        return
    security = Security(require_encryption=True)
    files = security.get_tls_config_for_role(role)
    if not (files["ca_file"] and files["cert"]):
        setting = "ca-file" if not files["ca_file"] else f"{role}.cert"
        raise HostError(
            f"{address} needs certificates, and distributed.comm.tls.{setting} of Dask's "
            "configuration names none",
            _HOW,
        )
    try:
        security.get_connection_args(role)
    except OSError as error:
        names = ", ".join(str(file) for file in files.values() if file)
        raise HostError(f"{names} can't be used as certificates ({error})", _HOW) from None


def refuse_others(name: str, theirs: Mapping[str, str], ours: Mapping[str, str]) -> None:
    """HostError where a worker has another Python or distributed than this machine: Dask pickles
    what it sends (dask/distributed#7017, #6113)."""
    for package, parts in (("python", 2), ("distributed", None)):
        here, there = (".".join(end[package].split(".")[:parts]) for end in (ours, theirs))
        if here != there:
            raise HostError(
                f"the worker {name} has {package} {there}, and this machine has {here}",
                "install the same there",
            )
