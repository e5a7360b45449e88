"""Where a scheduler is, which addresses are refused, and whether one is there: told beforehand.

Dask retries a connection that can't be made and tells much later, in its own words; so it is tried
here first, with nothing but sockets, and whatever is wrong becomes one sentence.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
import struct
from dataclasses import dataclass
from urllib.parse import urlsplit

from app.carriers.contract import CarrierError

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
    with plain, _wrapped(address, plain, context) as stream:
        greeting = _greeting(address, stream)
    if _GREETING not in greeting:
        raise CarrierError(f"what listens at {address} is no Dask scheduler", _START)


def _wrapped(
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
    told = error.reason if isinstance(error, ssl.SSLError) else error.strerror
    return str(told or error).replace("_", " ").lower()
