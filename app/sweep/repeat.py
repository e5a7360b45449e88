"""`--plan RUNDIR`: a new run of exactly what another measured, with the very same files.

What has changed since is refused: its rows would be compared as if they were of the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from app.cases.case import Case
from app.cases.errors import PlanError
from app.machine import engines
from app.machine.environment import describe_host
from app.plan.environments import environments_of
from app.plan.placing import refuse_misplaced
from app.results.fingerprints import fingerprints
from app.results.folder import RunFolder
from app.results.kept_files import KeptFile, kept_files
from app.results.manifest import Manifest, new_manifest
from app.results.reader import read_run
from app.results.run import Run
from app.sweep.begin import arrivals_seed, new_path
from app.sweep.unchanged import is_gone, refuse_changed
from exporters.factory_file import factory_path, is_factory_file


def repeat(run_path: Path, path: Path | None = None) -> RunFolder:
    """The locked folder of the new run, with the cases, lengths and seed of the old; requests
    arrive at other moments, unless its plan gave a seed.

    Raises PlanError or ResultsError before anything is written.
    """
    run = read_run(run_path)
    old = run.manifest
    kept = {file.path: file for file in old.files}
    environments_of(old.asked)
    refuse_changed(run, copies=True)
    cases = [replace(_with_its_files(case, run, kept), naming=2) for case in old.cases]
    accuracy = _place(old.asked.accuracy, run, kept)
    if not old.asked.cluster:
        refuse_misplaced(old.asked)
    engines.refuse_unwritable()
    manifest: Manifest = new_manifest(
        name=old.name,
        seed=old.seed,
        rounds=old.rounds,
        time_limit_s=old.time_limit_s,
        limits=old.limits,
        plan=old.asked.model_copy(update={"accuracy": accuracy}),
        cases=cases,
        environment=describe_host(),
        files=kept_files(cases, accuracy),
        fingerprints=fingerprints(
            cases, accuracy, old.asked.environments, elsewhere=bool(old.asked.cluster)
        ),
        repeats=old.run_id,
        spread_s=old.spread_s,
        arrivals_seed=arrivals_seed(old.asked),
        assumed_sizes=old.assumed_sizes,
    )
    return RunFolder.create(path or new_path(old.asked), manifest)


def _with_its_files(case: Case, run: Run, kept: Mapping[str, KeptFile]) -> Case:
    """The case with each file that is no longer there taken from the run folder."""
    if is_factory_file(case.model):
        path = str(factory_path(case.model))
        file = kept.get(path)
        if file is not None and is_gone(file):
            raise PlanError(
                f"{path}, which {run.path} measured, is not there",
                f"copy {run.path / file.kept} to that place",
            )
    return replace(case, given=case.given.moved(lambda path: _place(path, run, kept)))


def _place(path: str, run: Run, kept: Mapping[str, KeptFile]) -> str:
    """Where the file is: its own place, or its copy in the run where that is empty."""
    file = kept.get(path)
    if file is None or not file.kept or not is_gone(file):
        return path
    return str((run.path / file.kept).absolute())
