"""`graphlap doctor`: what this machine, or the hosts of a cluster, have for measuring."""

from __future__ import annotations

import argparse

from app.cases.errors import PlanError
from app.commands.output import add_format, format_of, print_document
from app.plan.flag_words import environment_pair


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which machine, and which environments of it."""
    parser.add_argument(
        "--python",
        "--environment",
        dest="environment",
        metavar="NAME=PATH",
        action="append",
        default=[],
        help="also examine the packages of this interpreter",
    )
    parser.add_argument("--cluster", metavar="ADDRESS", help="examine the hosts of a cluster")
    parser.add_argument(
        "--insecure-cluster", action="store_true", help="of --cluster tcp://: no certificates"
    )
    add_format(parser)


def run(options: argparse.Namespace) -> int:
    """Print the report; 1 if an installed runtime, or an environment, can't be used."""
    format_of(options)
    if options.cluster:
        if options.environment:
            raise PlanError("--python is of this machine, not of a cluster", "Leave it out")
        from app.console.hosts import Hosts

        hosts = Hosts.at(options.cluster, options.insecure_cluster)
        return print_document(hosts.blocks, options, {"table": lambda: hosts.text})
    if options.insecure_cluster:
        raise PlanError("--insecure-cluster is of --cluster", "Give --cluster too")
    from app.console.doctor import doctor
    from app.plan.environments import users_environments

    named = dict(environment_pair(text) for text in options.environment)
    found = doctor(environments=users_environments() | named)
    return print_document(found.blocks, options, {"table": lambda: found.text}) or found.code
