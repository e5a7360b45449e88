"""Checks before a run is resumed or repeated: its manifest, files, interpreters and engines."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from app.cases.errors import PlanError, ResultsError
from app.cases.round import is_imported
from app.machine.installed_runtimes import availability_of, device_library
from app.run_folder.manifest import ArchivedFile, Fingerprint, Manifest, fingerprint, read_manifest
from app.run_folder.run import Run
from app.sweep.work.share import BUNDLE, BUNDLE_FILES
from exporters.file_access import user_path
from runtimes import registry
from runtimes.base import Unavailable
from runtimes.registry import environment_of, parse_spec


def resumable_manifest(path: Path) -> Manifest:
    """ResultsError for a run of another program, a share, of a runtime that nothing here brings,
    or of an environment whose interpreter its plan does not name."""
    manifest = read_manifest(path)
    if (path / BUNDLE).is_file() and not (path / BUNDLE_FILES).is_dir():
        raise ResultsError(
            f"{path} is a share of a run that other machines measured",
            f"resume the whole run: {path.absolute().parents[2]}",
        )
    known_environments = manifest.requested_plan.environments
    for spec in dict.fromkeys(case.runtime for case in manifest.cases):
        if is_imported(spec):
            raise ResultsError(
                f"{path} was imported: another program measured it",
                "import its files again, or use --models",
            )
        if parse_spec(spec).name not in registry.names():
            raise ResultsError(
                f"{path} measures {spec!r:.80}, and no runtime is called that here",
                "install the package that brings it",
            )
        environment = environment_of(spec)
        if environment and environment not in known_environments:
            raise ResultsError(
                f"{path} measures {spec!r:.80}, and its plan names no interpreter of {environment}",
                "start a new run with --python",
            )
    return manifest


def reject_changed(run: Run, copies: bool) -> None:
    """PlanError for the first file that is not as the run had it.

    With `copies` a file that is gone may be replaced by its copy in the run folder.
    """
    for file in run.manifest.files:
        if not (copies and file.kept and is_gone(file)):
            _reject_unless(Path(file.path), file.sha256, run.path, file.kept)
    for record in run.manifest.fingerprints:
        _reject_unless(_current_path(record, run), record.sha256, run.path)
    _reject_changed_models(run)


def reject_lost_engines(run: Run) -> None:
    """ResultsError for a runtime that has measured rounds of the run and is not here now."""
    measured_specs = {
        case.runtime for case in run.cases if any(result.samples for result in run.rounds_of(case))
    }
    for spec in sorted(measured_specs):
        state = availability_of(spec, run.manifest.requested_plan.environments)
        if isinstance(state, Unavailable):
            raise ResultsError(
                f"{run.path} has rounds of {spec}, which can't be measured here ({state.reason})",
                f"{state.remedy}, or resume the run with the interpreter that began it",
            )


def reject_unknown_cases(run: Run) -> None:
    """ResultsError for rounds of cases that the run does not have."""
    unknown_ids = run.rounds.keys() - {case.case_id for case in run.cases}
    if unknown_ids:
        raise ResultsError(
            f"{run.path} has rounds of {len(unknown_ids)} cases that are not in its manifest "
            f"({min(unknown_ids):.40})",
            "move journals of other runs out of its folder",
        )


@contextlib.contextmanager
def started_in(manifest: Manifest | None) -> Iterator[None]:
    """Work in the folder in which a run was started, so that relative paths name the same files.

    Where that folder is gone, files that are missed are refused by their names.
    """
    folder = Path(manifest.started_in) if manifest and manifest.started_in else None
    if folder is None or not folder.is_dir():
        yield
        return
    with contextlib.chdir(folder):
        yield


def is_gone(file: ArchivedFile) -> bool:
    return not Path(file.path).exists()


def _reject_changed_models(run: Run) -> None:
    """A model that never became a graph has left no hash, and nothing was measured of it."""
    for (model, _), exported_model in run.models.items():
        path = user_path(model)
        for name, sha256 in exported_model.sources.items():
            places = [path] if name == path.name else [path.parent / name]
            places.append(path.resolve().parent / name)  # beside the file that a link names
            source = next(filter(Path.exists, places), places[0])
            _reject_unless(source, sha256, run.path)


def _current_path(record: Fingerprint, run: Run) -> Path:
    """The file as it would be loaded now; PlanError where its package is gone."""
    if not record.runtime:
        return Path(record.path)
    path = device_library(record.runtime, run.manifest.requested_plan.environments)
    if not path:
        raise PlanError(
            f"{run.path} measured {record.runtime} by {record.path}, and no such library can be "
            "loaded here",
            "install its package again, or start a new run",
        )
    return Path(path)


def _reject_unless(path: Path, sha256: str, run_path: Path, copy: str = "") -> None:
    advice = f"put back {run_path / copy}" if copy else "put it back as it was"
    remedy = f"{advice}, or start a new run"
    try:
        is_unchanged = fingerprint(path) == sha256
    except OSError as error:
        raise PlanError(
            f"{path}, which {run_path} measured, can't be read ({error.strerror})", remedy
        ) from None
    if not is_unchanged:
        raise PlanError(f"{path} has changed since {run_path} measured it", remedy)
