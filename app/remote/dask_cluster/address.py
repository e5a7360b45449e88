"""The address of a Dask scheduler, checked before use, and the certificates of both ends."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import dask
from distributed.security import Security

from app.remote.contract import CarrierError

PORT = 8786
"""Dask's own."""
REACH_S = 10.0
GREETING_S = 5.0
"""Once it is connected."""
_SCHEMES = ("tls", "tcp")
_GREETING = b"pickle-protocol"
"""What the first message of any Dask server has in it (`distributed.comm.core`)."""
_GREETING_BYTES = 1 << 16
_START = "start one there (docs/cluster.md): dask scheduler"


@dataclass(frozen=True, slots=True)
class Address:
    """`tls://host:8786`, taken apart."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    @property
    def encrypted(self) -> bool:
        return self.scheme == "tls"

    @property
    def is_here(self) -> bool:
        """Whether it is the loopback: `localhost`, 127.0.0.0/8 or ::1."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


class Unreached(CarrierError):
    """Nothing listens at the address, which may come yet."""


def parse_address(text: str, insecure: bool = False) -> Address:
    """The address of a scheduler; CarrierError for another form, and for a plain one elsewhere.

    `insecure` lets the plain one pass.
    """
    try:
        parts = urlsplit(text)
        address = Address(parts.scheme, parts.hostname or "", parts.port or PORT)
    except ValueError:
        address = Address("", "", 0)
    if address.scheme not in _SCHEMES or not address.host:
        raise CarrierError(f"{text!r} is no address of a scheduler", "write it as tls://HOST:8786")
    if not address.encrypted and not address.is_here and not insecure:
        raise CarrierError(
            f"{address} is refused: every process that reaches a plain Dask port can run "
            "code there, since it unpickles what it receives",
            "use tls:// with certificates (docs/cluster.md), or --insecure-cluster in a network "
            "that no one else uses",
        )
    return address


def reach(address: Address, context: ssl.SSLContext | None, within_s: float = REACH_S) -> None:
    """Unreached where nothing listens, CarrierError where what listens is no Dask of this kind.

    `context` is that of our certificate, None for a plain address.
    """
    try:
        plain = socket.create_connection((address.host, address.port), within_s)
    except socket.gaierror as error:
        raise CarrierError(f"no machine is called {address.host!r} ({error.strerror})") from None
    except TimeoutError:
        raise Unreached(
            f"{address} has not answered for {within_s:g} s",
            "is the machine on, and does its firewall let this port through?",
        ) from None
    except OSError as error:
        raise Unreached(f"no scheduler is at {address} ({error.strerror})", _START) from None
    plain.settimeout(min(within_s, GREETING_S))
    with plain, _wrap_socket(address, plain, context) as stream:
        greeting = _greeting(address, stream)
    if _GREETING not in greeting:
        raise CarrierError(f"what listens at {address} is no Dask scheduler", _START)


def _wrap_socket(
    address: Address, plain: socket.socket, context: ssl.SSLContext | None
) -> socket.socket:
    try:
        return context.wrap_socket(plain) if context is not None else plain
    except ssl.SSLCertVerificationError as error:
        raise CarrierError(
            f"the certificate of {address} is not one that our authority has signed "
            f"({error.verify_message})",
            "name the authority of this cluster: tls.ca-file of Dask's configuration",
        ) from None
    except OSError as error:
        raise CarrierError(
            f"{address} does not speak TLS as we do ({_reason(error)})",
            "was the scheduler started with --tls-ca-file, --tls-cert and --tls-key?",
        ) from None


def _greeting(address: Address, stream: socket.socket) -> bytes:
    """What a Dask server says unasked: its size in 8 bytes, and then itself; empty for nothing."""
    try:
        head = _exactly(stream, 8)
        size = struct.unpack("<Q", head)[0] if len(head) == 8 else 0
        return _exactly(stream, size) if size < _GREETING_BYTES else b""
    except ssl.SSLError as error:
        raise CarrierError(
            f"{address} refuses our certificate ({_reason(error)})",
            "have it signed by the authority of this cluster",
        ) from None
    except TimeoutError:
        scheme = "tcp" if address.encrypted else "tls"
        raise CarrierError(
            f"the server at {address} has sent nothing for {stream.gettimeout():g} s",
            f"a Dask scheduler speaks first: is it a {scheme}:// one?",
        ) from None
    except OSError:
        return b""


def _exactly(stream: socket.socket, size: int) -> bytes:
    """So many bytes, or fewer where it ends."""
    data = b""
    while len(data) < size and (more := stream.recv(size - len(data))):
        data += more
    return data


def _reason(error: OSError) -> str:
    """What OpenSSL or the system calls it, in small letters."""
    reason = error.reason if isinstance(error, ssl.SSLError) else error.strerror
    return str(reason or error).replace("_", " ").lower()


Role = Literal["client", "worker"]
_TLS = "distributed.comm.tls"
_HOW = "see docs/cluster.md for how to make one"


def credentials(
    role: Role, address: Address, overrides: Mapping[str, str | None]
) -> tuple[Security, ssl.SSLContext | None]:
    """What Dask takes, and the TLS context of this role in it; None for a plain address.

    `overrides` may have `ca_file`, `cert` and `key`, which win over the configuration. CarrierError
    for a file that is missing or is no certificate.
    """
    if not address.encrypted:
        return Security(require_encryption=False), None
    files = {
        name: overrides.get(name) or dask.config.get(f"{_TLS}.{where}", None)
        for name, where in _places(role).items()
    }
    for name in ("ca_file", "cert"):
        if not files[name]:
            raise CarrierError(
                f"{address} needs certificates, and {_flag(role, name)} names none",
                _HOW,
            )
    for name, file in files.items():
        if file and not Path(file).is_file():
            raise CarrierError(f"{_flag(role, name)} names {file}, where no file is", _HOW)
    security = Security(
        require_encryption=True,
        tls_ca_file=files["ca_file"],
        **{f"tls_{role}_cert": files["cert"], f"tls_{role}_key": files["key"]},
    )
    try:
        context: Any = security.get_connection_args(role)["ssl_context"]
    except (ssl.SSLError, OSError) as error:
        raise CarrierError(
            f"{', '.join(str(f) for f in files.values() if f)} can't be used as authority, "
            f"certificate and key ({error.strerror or error})",
            _HOW,
        ) from None
    return security, context


def _places(role: Role) -> Mapping[str, str]:
    return {"ca_file": "ca-file", "cert": f"{role}.cert", "key": f"{role}.key"}


def _flag(role: Role, name: str) -> str:
    """How a user says it: the variable of Dask's configuration."""
    place = _places(role)[name].replace(".", "__").replace("-", "_")
    variable = f"DASK_DISTRIBUTED__COMM__TLS__{place.upper()}"
    flag = {"ca_file": "--tls-ca-file", "cert": "--tls-cert", "key": "--tls-key"}[name]
    return f"{flag} or {variable}" if role == "worker" else variable
