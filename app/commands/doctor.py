"""`graphlap doctor`: what this machine, or the hosts of a cluster, have for measuring."""

from __future__ import annotations

import argparse
import sys

from app.cases.errors import PlanError
from app.commands.output import add_format, print_document
from app.commands.settings import add_settings
from app.console.streams import width_of
from app.plan.command_line import explicit_settings
from app.present.terminal import wrap_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which machine, and which environments of it."""
    add_settings(parser, "doctor")
    add_format(parser)


def run(options: argparse.Namespace) -> int:
    """Print the report; 1 if an installed runtime, or an environment, can't be used."""
    width = width_of(sys.stdout)
    if options.cluster:
        if options.python:
            raise PlanError("--python is of this machine, not of a cluster", "Leave it out")
        from app.console.hosts import Hosts

        hosts = Hosts.at(options.cluster, options.insecure_cluster)
        return print_document(
            hosts.blocks, options, {"table": lambda: wrap_lines(hosts.text, width)}
        )
    if options.insecure_cluster:
        raise PlanError("--insecure-cluster is of --cluster", "Give --cluster too")
    from app.console.doctor import doctor
    from app.machine import release_environments
    from app.plan.runtime_selection import users_environments

    named_environments = explicit_settings(options, "plan").get("environments", {})
    releases = {
        environment.label: environment.python for environment in release_environments.usable()
    }
    examination = doctor(environments=releases | users_environments() | named_environments)
    return (
        print_document(
            examination.blocks, options, {"table": lambda: wrap_lines(examination.text, width)}
        )
        or examination.code
    )
