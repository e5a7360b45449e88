"""The address of a Dask scheduler, the certificates of both ends, and Dask's settings here."""

from __future__ import annotations

import ipaddress
import platform
from collections.abc import Mapping
from importlib import metadata
from typing import Any, Literal
from urllib.parse import urlsplit

from distributed.security import Security

from app.machine.environment import graphlap_version
from app.remote.link import HostError

PORT = 8786
"""Dask's own."""
RESOURCE = "measure"
"""Each worker has one of it, each share needs one: whoever else sends tasks waits for it too."""
KEY = "graphlap"
"""Under which a worker tells the scheduler that it measures, and with what."""
_HOW = "see docs/cluster.md for how to make one"
_QUIET = {
    "distributed.admin.tick.interval": "2s",  # else it wakes 50 times a second
    "distributed.admin.tick.limit": "60s",  # else it takes a rare check for a hanging loop
    "distributed.admin.tick.cycle": "60s",
    "distributed.worker.profile.enabled": False,  # else it takes its own stack 100 times a second
    "distributed.admin.system-monitor.interval": "1h",  # else it reads /proc twice a second
    "distributed.admin.system-monitor.disk": False,
    "distributed.admin.system-monitor.gil.enabled": False,
}
WORKER = {
    **_QUIET,
    "distributed.diagnostics.nvml": False,  # else it queries the measured GPU
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,  # else it takes no task while it is large
    "distributed.worker.memory.terminate": False,  # a measuring process has its own limit
    "distributed.worker.http.routes": [],
}
CLIENT = {
    "distributed.worker.profile.enabled": False,
    "distributed.client.scheduler-info-interval": "1h",
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


def security_of(
    role: Literal["client", "worker"], address: str, given: Mapping[str, str | None]
) -> Security:
    """What Dask takes. `given` are some of its own arguments, which win over its configuration.
    HostError for a file that is missing or is no certificate."""
    if address.startswith("tcp:"):
        return Security(require_encryption=False)
    own = {name: file for name, file in given.items() if file}
    security = Security(require_encryption=True, **own)
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
    return security


def versions() -> dict[str, Any]:
    """This end's. Dask pickles what it sends, so that its own release and Python's must be the same
    (dask/distributed#7017, #6113); Graphlap's must be, or a row would be of another program."""
    return {
        "Graphlap": graphlap_version(),
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "distributed": metadata.version("distributed"),
    }


def refuse_others(name: str, theirs: Mapping[str, Any]) -> None:
    """HostError where the worker of this name differs in a version that matters."""
    for package, version in versions().items():
        if theirs.get(package) != version:
            raise HostError(
                f"the worker {name} has {package} {theirs.get(package, 'unknown')}, and this "
                f"machine has {version}",
                "install the same there",
            )
