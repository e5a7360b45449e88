"""Where a run was measured, and the commands that measure it again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from app.plan.command import flags_line
from app.plan.plan import Plan
from app.plan.shell import shell_line
from app.present.html import safe, scrolled
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


def where(run: Run, hosts: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """A column for each host; a merged run is repeated where its own were measured."""
    merged = run.manifest.merged
    how = "" if merged else ", and how to repeat it"
    yield f"<h2>Where it was measured{how}</h2>\n"
    yield f"{scrolled('hosts')}<table><tbody>\n"
    told = [{**host, "host": name or host.get("host")} for name, host in hosts.items()]
    for name, title, text in _HOST:
        values = [host.get(name) for host in told]
        if any(value is not None for value in values):
            yield _facts(title, ["" if value is None else text(value) for value in values])
    versions = [_versions(host.get("packages")) for host in hosts.values()]
    yield _facts("Packages", versions or [""])
    yield "</tbody></table></div>\n"
    if not merged:
        yield from _commands(run)


def _versions(packages: Any) -> str:
    """Of each package; a damaged value as it stands."""
    if not isinstance(packages, dict):
        return "" if packages is None else str(packages)
    return ", ".join(f"{name} {version}" for name, version in packages.items())


def _commands(run: Run) -> Iterator[str]:
    """By its folder, and for who has none by flags alone, where these say all of it."""
    folder = str(run.path.absolute())
    yield _command(shell_line([*own.PROGRAM.split(), "run", folder]))
    flags = flags_line(run.manifest.asked) if _of_catalogue(run.manifest.asked) else None
    if flags is not None:
        yield f"<p>Without the run folder:</p>\n{_command(flags)}"


def _of_catalogue(plan: Plan) -> bool:
    """Whether nothing else is measured: a file has to be there, and may have changed."""
    known = catalogue.names()
    return all(model in known for sweep in plan.sweeps for model in sweep.models)


def _command(line: str) -> str:
    return f'<pre tabindex="0"><code>{safe(line)}</code></pre>\n'


def _facts(title: str, values: Sequence[str]) -> str:
    cells = "".join(f"<td>{safe(value)}</td>" for value in values)
    return f'<tr><th scope="row">{title}</th>{cells}</tr>\n'
