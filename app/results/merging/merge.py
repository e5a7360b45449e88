"""`merge`: run folders in, one run folder out, and what there is to tell of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from app.plan.plan import Plan
from app.results.manifest import Manifest, new_manifest
from app.results.merging.joined import Joined, join
from app.results.merging.naming import Names, names_of
from app.results.merging.sources import Source
from app.results.merging.writing import kept_files, refuse_place, write
from app.results.plans_together import differing, refuse_mixed, together
from app.results.run import Run


@dataclass(frozen=True, slots=True)
class Merged:
    """The run, sentences about how it came about, and what was damaged and is not in it."""

    run: Run
    sentences: tuple[str, ...]
    lost: tuple[str, ...]


def merge(sources: Sequence[Source], place: Callable[[Plan], Path]) -> Merged:
    """Make the run folder at `place`, which is asked once all else is in order.

    Raises PlanError or ResultsError before anything is written, DiskError if it can't be.
    """
    names = names_of(sources)
    joined = join(sources, names)
    refuse_mixed(joined.parts)
    plan = together(joined.parts)
    path = place(plan)
    refuse_place(path, sources)
    run = write(path, _manifest(plan, joined, names, sources), joined, sources)
    copies = "" if joined.twice == 1 else "s"
    twice = f"{joined.twice:,} round{copies} that several folders have are there once"
    sentences = (*([twice] if joined.twice else []), *joined.sentences, *differing(joined.parts))
    return Merged(run, sentences, tuple(one for source in sources for one in source.lost))


def _manifest(plan: Plan, joined: Joined, names: Names, sources: Sequence[Source]) -> Manifest:
    """That of a run which began with the first of these; its environment is that of their host,
    where there is one."""
    first = joined.parts[0]
    known = [writer for one in sources for writer in one.writers.values() if writer.host]
    alone = len(names.hosts) == 1 and known
    made = new_manifest(
        name=plan.name,
        seed=plan.seed or 0,
        rounds=max(part.rounds for part in joined.parts),
        time_limit_s=first.time_limit_s,
        limits=first.limits,
        plan=plan,
        cases=joined.cases,
        environment=known[0].environment if alone else {},
        files=tuple(kept_files(joined.kept, sources)),
    )
    return replace(made, created_at_utc=first.created_at_utc, merged=joined.parts)
