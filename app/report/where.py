"""Where a run was measured, and the commands that measure it again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from app.plan.command import flags_line
from app.plan.plan import Plan
from app.plan.shell import shell_line
from app.present.document import Block, Command, names, table
from app.results.run import Run
from exporters import own
from exporters.models import catalogue


def _gib(value: Any) -> str:
    return f"{value / 2**30:.1f} GiB" if isinstance(value, int) else str(value)


def _rounded(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _yes(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


_HOST: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("host", "Host", str),
    ("cpu", "Processor", str),
    ("cores_usable", "Cores", str),
    ("memory_bytes", "Memory", _gib),
    ("os", "System", str),
    ("python", "Python", str),
    ("governor", "Governor", str),
    ("virtual_machine", "Virtual machine", _yes),
    ("load_1min", "Load at the start", _rounded),
)


def where(run: Run, hosts: Mapping[str, Mapping[str, Any]]) -> Iterator[Block]:
    """A column for each host; a merged run is repeated where its own were measured."""
    known = [{**host, "host": name or host.get("host")} for name, host in hosts.items()]
    rows = [
        (title, *("" if host.get(name) is None else text(host.get(name)) for host in known))
        for name, title, text in _HOST
        if any(host.get(name) is not None for host in known)
    ]
    versions = (_versions(host.get("packages")) for host in hosts.values())
    rows.append(("Packages", *(versions if hosts else [""])))
    columns = ("", *(str(host.get("host") or "machine") for host in known or [{}]))
    yield table(names(*columns), rows)
    if not run.manifest.merged:
        yield from _commands(run)


def _versions(packages: Any) -> str:
    """Of each package; a damaged value as it stands."""
    if not isinstance(packages, dict):
        return "" if packages is None else str(packages)
    return ", ".join(f"{name} {version}" for name, version in packages.items())


def _commands(run: Run) -> Iterator[Command]:
    """By its folder, and for who has none by flags alone, where these say all of it."""
    folder = str(run.path.absolute())
    yield Command(shell_line([*own.PROGRAM.split(), "run", folder]))
    flags = flags_line(run.manifest.asked) if _of_catalogue(run.manifest.asked) else None
    if flags is not None:
        yield Command(flags, "Without the run folder")


def _of_catalogue(plan: Plan) -> bool:
    """Whether nothing else is measured: a file has to be there, and may have changed."""
    known = catalogue.names()
    return all(model in known for sweep in plan.sweeps for model in sweep.models)
