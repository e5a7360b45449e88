"""`graphlap worker tls://HOST:8786`: this machine measures for whoever uses that scheduler."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import ssl
import sys
import time
from collections.abc import Sequence

from distributed import Security

from app.carriers.agent import Agent as ThisMachine
from app.carriers.contract import Agent, CarrierError
from app.carriers.fleet.address import Address, Unreached, parse_address, reach
from app.carriers.fleet.credentials import credentials
from app.carriers.fleet.measuring import MeasureWorker, worker_name
from app.cases.flag_parser import FlagParser
from app.machine.cores import listed
from exporters import own

PATIENCE_S = 60.0
"""A scheduler that is started with its workers may come so much later."""
_AGAIN_S = 0.5


def main(arguments: Sequence[str], agent: Agent | None = None) -> int:
    """Measure until asked to end (0) or until the scheduler is gone (1).

    `agent` does the work, by default that of this machine. CarrierError where the address is
    refused, no scheduler is there, or a certificate is wrong.
    """
    given = _parser().parse_args(arguments)
    address = parse_address(given.address, given.insecure_cluster)
    files = {"ca_file": given.tls_ca_file, "cert": given.tls_cert, "key": given.tls_key}
    security, context = credentials("worker", address, files)
    _reach_in_time(address, context)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters we say ourselves
    try:
        agent = agent or ThisMachine(given.name, given.cores, given.machine)
        return asyncio.run(_measure(address, security, given.name, agent))
    except RuntimeError as error:  # another has its name, or a port of ours is taken
        raise CarrierError(
            f"the scheduler {address} does not take this worker ({error.__cause__ or error})",
            "is a worker of this --name there already?",
        ) from None


def _reach_in_time(address: Address, context: ssl.SSLContext | None) -> None:
    """As `reach`, but one that is not there yet is waited for."""
    until_s = time.monotonic() + PATIENCE_S
    told = False
    while True:
        try:
            return reach(address, context)
        except Unreached as error:
            if time.monotonic() > until_s:
                raise
            if not told:
                _say(f"{error.cause}: this waits {PATIENCE_S:g} s for one")
            told = True
            time.sleep(_AGAIN_S)


async def _measure(address: Address, security: Security, name: str, agent: Agent) -> int:
    worker = MeasureWorker(
        str(address),
        security=security,
        name=name,
        agent=agent,
        # Dask would listen on all networks for a scheduler of this machine.
        host="127.0.0.1" if address.is_here else None,
    )
    asked = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, asked.set)
    async with worker:
        _say(f"{name} measures for {address}")
        ended = asyncio.create_task(worker.finished())  # type: ignore[no-untyped-call]
        asking = asyncio.create_task(asked.wait())
        await asyncio.wait({ended, asking}, return_when=asyncio.FIRST_COMPLETED)
        asking.cancel()
    if not asked.is_set():
        _say(f"the scheduler {address} is gone, or has let go of {name}: start this again")
    return int(not asked.is_set())


def _say(sentence: str) -> None:
    sys.stderr.write(f"graphlap: {sentence}\n")


def _parser() -> argparse.ArgumentParser:
    parser = FlagParser(
        prog=f"{own.PROGRAM} worker",
        description="Measure on this machine what a sweep elsewhere asks for by --cluster.",
        epilog="Certificates are taken from Dask's configuration where none are given.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("address", help="the Dask scheduler: tls://HOST:8786")
    add(
        "--name",
        default=worker_name(None),
        type=worker_name,
        help="what rows call this machine (its own name)",
    )
    add("--cores", metavar="N,…", default=(), type=_cores, help="what to measure on: 2,3 or 2-5")
    add("--machine", default="", help="workers of one machine take turns (of one kernel)")
    add("--tls-ca-file", metavar="FILE", help="the authority that signed all certificates")
    add("--tls-cert", metavar="FILE", help="this machine's certificate")
    add("--tls-key", metavar="FILE", help="its key, if it is not in the same file")
    add("--insecure-cluster", action="store_true", help="a plain tcp:// address elsewhere")
    return parser


def _cores(text: str) -> tuple[int, ...]:
    try:
        return listed(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} {error}") from None
