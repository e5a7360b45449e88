"""A check as a page in Markdown, with its date, for those who were not there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.cases.column import Row
from app.console.checks import NOWHERE, summary, words
from app.console.said import said
from app.present.escaping import escaped
from app.results.checking import matrix
from app.results.hosts import environments
from app.results.measured import Measured
from app.results.run import Run

_NO_SUITE = "models"


def check_page(run: Run, measured: Sequence[Measured]) -> Iterator[str]:
    """Its lines: what ran it, a table for each suite of the models, and every reason once."""
    manifest = run.manifest
    rows = [one.row for one in measured]
    yield f"# Will it run there: {escaped(manifest.name)}"
    yield ""
    date, version = manifest.created_at_utc[:10], manifest.graphlap_version
    hosts = environments(manifest, run.environments, rows).values()
    cpus = dict.fromkeys(str(host["cpu"]) for host in hosts if host.get("cpu"))
    cpu = escaped(" and ".join(cpus) or "an unknown processor")
    yield f"Checked {date} with Graphlap {version} on {cpu}:"
    yield "compiled for each runtime as far as that machine could, and nothing timed."
    yield f"{summary(rows)}."
    yield ""
    yield "| runtime | version |"
    yield "| --- | --- |"
    for runtime, version in _versions(rows).items():
        yield f"| {escaped(runtime)} | {escaped(version) or 'not on this machine'} |"
    here = [one for one in measured if one.row["status"] != NOWHERE]
    for suite in dict.fromkeys(one.case.suite for one in here):
        yield ""
        yield f"## {escaped(suite) or _NO_SUITE}"
        yield ""
        yield from _table([one for one in here if one.case.suite == suite])
    found = said(measured).causes
    if found:
        yield ""
        yield "## Why not"
        yield ""
        for why in found:
            yield f"- **{why.status.replace('_', ' ')}**, {escaped(why.sentence)}"


def _versions(rows: Sequence[Row]) -> dict[str, str]:
    """By runtime the version of its engine, as any of its rows tells it."""
    told: dict[str, str] = {}
    for row in rows:
        name, version = str(row["runtime"]), str(row["runtime_version"] or "")
        told[name] = told.get(name) or version
    return told


def _table(measured: Sequence[Measured]) -> Iterator[str]:
    found = matrix([one.case for one in measured])
    cells = words(found, [one.row for one in measured])
    yield _line("model", *map(escaped, found.columns))
    yield _line(*["---"] * (1 + len(found.columns)))
    for name, told in zip(found.rows, cells, strict=True):
        yield _line(escaped(name), *told)


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
