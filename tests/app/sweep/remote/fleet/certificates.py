"""A small authority and what it signs, made by openssl as docs/cluster.md does it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Certificates:
    """One authority and one signed certificate with its key, for every end of a cluster."""

    ca: Path
    cert: Path
    key: Path

    def flags(self) -> list[str]:
        """As `dask scheduler` and `graphlap worker` take them."""
        return [
            *("--tls-ca-file", str(self.ca)),
            *("--tls-cert", str(self.cert)),
            *("--tls-key", str(self.key)),
        ]

    def settings(self) -> dict[str, str]:
        """As `dask.config.set` takes them, of a client."""
        prefix = "distributed.comm.tls"
        return {
            f"{prefix}.ca-file": str(self.ca),
            f"{prefix}.client.cert": str(self.cert),
            f"{prefix}.client.key": str(self.key),
        }


def make(folder: Path, days: int = 2) -> Certificates:
    """An authority of its own and a certificate that it signed."""
    folder.mkdir(parents=True, exist_ok=True)
    certificates = Certificates(folder / "ca.pem", folder / "cert.pem", folder / "key.pem")
    authority_key, request = folder / "ca-key.pem", folder / "request.pem"
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    _openssl(
        *("req", "-x509", *curve, "-days", str(days), "-subj", "/CN=graphlap cluster"),
        *("-keyout", str(authority_key), "-out", str(certificates.ca)),
    )
    _openssl(
        *("req", *curve, "-subj", "/CN=graphlap"),
        *("-keyout", str(certificates.key), "-out", str(request)),
    )
    _openssl(
        *("x509", "-req", "-in", str(request), "-days", str(days)),
        *("-CA", str(certificates.ca), "-CAkey", str(authority_key), "-CAcreateserial"),
        *("-out", str(certificates.cert)),
    )
    return certificates


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)
