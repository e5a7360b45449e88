"""What is on this machine: `models`, `runtimes` and `doctor`; `worker` lends it to a run."""

from __future__ import annotations

import argparse

from app.cases.errors import PlanError
from app.cli.output import add_format, print_document
from app.machine.placement import listed
from app.plan.command_line import add_settings, explicit_settings
from exporters import install_layout
from exporters.types import InvalidValue


def add_models(parser: argparse.ArgumentParser) -> None:
    """Which of them."""
    add_settings(parser, "models")
    add_format(parser)


def run_models(options: argparse.Namespace) -> int:
    """Print them."""
    from app.present.console.catalogue import as_csv, as_json, models_blocks, models_of

    rows = models_of(options.suite)
    writers = {"json": lambda: as_json(rows), "csv": lambda: as_csv(rows)}
    return print_document(models_blocks(rows), options, writers)


def add_runtimes(parser: argparse.ArgumentParser) -> None:
    """All of them, or one."""
    parser.add_argument("name", nargs="?", metavar="RUNTIME", help="print the options of this one")
    add_format(parser)


def run_runtimes(options: argparse.Namespace) -> int:
    """Print them; no engine is loaded (`graphlap doctor` does that)."""
    from app.present.console.catalogue import options_blocks, runtimes_blocks

    blocks = runtimes_blocks() if options.name is None else options_blocks(options.name)
    return print_document(blocks, options)


def add_doctor(parser: argparse.ArgumentParser) -> None:
    """Which machine, and which environments of it."""
    add_settings(parser, "doctor")
    add_format(parser)


def run_doctor(options: argparse.Namespace) -> int:
    """Print the report; 1 if an installed runtime, or an environment, can't be used."""
    if options.cluster:
        if options.python:
            raise PlanError("--python is of this machine, not of a cluster", "Leave it out")
        from app.present.console.doctor import Hosts

        return print_document(Hosts.at(options.cluster, options.insecure_cluster).blocks, options)
    if options.insecure_cluster:
        raise PlanError("--insecure-cluster is of --cluster", "Give --cluster too")
    from app.machine import release_environments
    from app.plan.runtime_selection import users_environments
    from app.present.console.doctor import doctor

    named_environments = explicit_settings(options, "plan").get("environments", {})
    releases = {
        environment.label: environment.python for environment in release_environments.usable()
    }
    examination = doctor(environments=releases | users_environments() | named_environments)
    return print_document(examination.blocks, options) or examination.code


_SCHEDULER_OPTIONS = ("name", "tls_ca_file", "tls_cert", "tls_key", "insecure_cluster")
"""Options that mean nothing on standard streams."""


def add_worker(parser: argparse.ArgumentParser) -> None:
    """Whom to serve: a scheduler of Dask's at an address, or with `--stdio` who started this."""
    parser.add_argument(
        "address", nargs="?", metavar="ADDRESS", help="a Dask scheduler: tls://HOST:8786"
    )
    add = parser.add_argument
    add("--stdio", action="store_true", help="serve who started this, as --cluster ssh:HOST does")
    add("--cores", metavar="N,…", help="what to measure on, such as 2,3 or 2-5 (all)")
    add(
        "--machine",
        metavar="NAME",
        default="",
        help="workers of one machine take turns; one with a name of its own does not",
    )
    scheduler = parser.add_argument_group("with an address")
    add = scheduler.add_argument
    add("--name", metavar="NAME", help="what rows call this machine (its own name)")
    add("--tls-ca-file", metavar="FILE", help="the authority that signed all certificates")
    add("--tls-cert", metavar="FILE", help="this machine's certificate")
    add("--tls-key", metavar="FILE", help="its key, if it is not in the same file")
    add("--insecure-cluster", action="store_true", help="a plain tcp:// address elsewhere")
    scheduler.description = "Without these files the certificates of Dask's configuration are used."


def run_worker(options: argparse.Namespace) -> int:
    """Serve until the run or the scheduler is gone; returns the exit code."""
    from app.sweep.remote.host import Server
    from app.sweep.remote.link import HostError
    from exporters.install_layout import taken_streams

    if options.stdio == (options.address is not None):
        problem = "has two" if options.stdio else "needs one"
        raise PlanError(
            f"graphlap worker {problem} of a scheduler's address and --stdio",
            "Give tls://SCHEDULER:8786, or --stdio",
        )
    cores = _cores_of(options)
    if options.stdio:
        if unread := next((key for key in _SCHEDULER_OPTIONS if getattr(options, key)), ""):
            flag = f"--{unread.replace('_', '-')}"
            raise PlanError(f"{flag}: --stdio has no scheduler", f"Remove {flag}, or --stdio")
        return Server(*taken_streams(), cores, options.machine).serve()
    arguments = (
        *(("--cores", options.cores) if options.cores else ()),
        *(("--machine", options.machine) if options.machine else ()),
    )
    try:
        code: int = install_layout.load("app.sweep.remote.fleet.worker:main")(options, arguments)
    except ModuleNotFoundError as error:
        raise HostError(
            f"a scheduler's worker needs {error.name}, not installed here",
            "pip install 'graphlap[cluster]'",
        ) from None
    return code


def _cores_of(options: argparse.Namespace) -> tuple[int, ...]:
    """The cores that rounds may run on, () for all; PlanError for what is no list of cores."""
    if options.cores is None:
        return ()
    try:
        return listed(options.cores)
    except InvalidValue as error:
        cause = f"--cores {options.cores!r} {error.cause}"
        raise PlanError(cause, error.remedy, "--cores") from None
