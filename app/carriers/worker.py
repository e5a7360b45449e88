"""`graphlap worker`: this machine as a host of a cluster, until whoever leads it ends.

With `--stdio` its agent speaks on standard input and output, which a carrier starts; with the
address of a scheduler it is a worker of Dask's.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from app.carriers.agent import Agent
from app.carriers.contract import CarrierError
from app.carriers.stdio import serve
from app.cases.errors import PlanError
from app.cases.flag_parser import FlagParser
from app.machine.cores import listed
from exporters import own
from exporters.invalid_value import InvalidValue


def parser() -> argparse.ArgumentParser:
    """The flags of `graphlap worker --stdio`; a scheduler's worker has its own."""
    top = FlagParser(
        prog="graphlap worker",
        usage="graphlap worker --stdio [--cores N,…] [--machine NAME]\n"
        "       graphlap worker tls://SCHEDULER:8786 …",
        description="This machine as a host of a cluster: with --stdio for who started it, as "
        "--cluster ssh:HOST does, or of a scheduler of Dask's.",
        allow_abbrev=False,
    )
    top.add_argument(
        "--stdio",
        action="store_true",
        required=True,
        help="speak on standard input and output",
    )
    top.add_argument(
        "--cores", metavar="N,…", help="what rounds may run on, such as 2,3 or 2-5; default: all"
    )
    top.add_argument(
        "--machine",
        metavar="NAME",
        default="",
        help="workers of one machine take turns; one with a name of its own does not",
    )
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until the carrier is gone; returns the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given and not given[0].startswith("-"):
        return _of_dask(given)
    flags = parser().parse_args(given)
    try:
        cores = listed(flags.cores) if flags.cores is not None else ()
    except InvalidValue as error:
        cause = f"--cores {flags.cores!r} {error.cause}"
        raise PlanError(cause, error.remedy, "--cores") from None
    return serve(Agent(cores=cores, machine=flags.machine))


def _of_dask(given: Sequence[str]) -> int:
    try:
        code: int = own.load("app.carriers.fleet.worker:main")(given)
    except ModuleNotFoundError as error:
        raise CarrierError(
            f"a scheduler's worker needs {error.name}, not installed here",
            "pip install 'graphlap[cluster]'",
        ) from None
    return code


if __name__ == "__main__":
    sys.exit(main())
