"""The certificates that an end of the cluster has, from Dask's own configuration.

`~/.config/dask/*.yaml` or `DASK_DISTRIBUTED__COMM__TLS__…`, as all that Dask starts takes them.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import dask
from distributed.security import Security

from app.carriers.contract import CarrierError
from app.carriers.fleet.address import Address

Role = Literal["client", "worker"]
_TLS = "distributed.comm.tls"
_HOW = "see docs/cluster.md for how to make one"


def credentials(
    role: Role, address: Address, given: Mapping[str, str | None]
) -> tuple[Security, ssl.SSLContext | None]:
    """What Dask takes, and the TLS context of this role in it; None for a plain address.

    `given` may have `ca_file`, `cert` and `key`, which win over the configuration. CarrierError
    for a file that is missing or is no certificate.
    """
    if not address.encrypted:
        return Security(require_encryption=False), None
    files = {
        name: given.get(name) or dask.config.get(f"{_TLS}.{where}", None)
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
