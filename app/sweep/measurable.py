"""A run folder that is to be measured on, or again: its manifest, refused where that can't be."""

from __future__ import annotations

from pathlib import Path

from app.cases.errors import ResultsError
from app.cases.imported import is_imported
from app.results.manifest import Manifest, read_manifest
from runtimes import registry
from runtimes.environment import environment_of
from runtimes.registry import parse_spec


def measurable(path: Path) -> Manifest:
    """ResultsError for a run of another program or of several runs, of a runtime that nothing here
    brings, or of an environment whose interpreter its plan does not name."""
    manifest = read_manifest(path)
    if manifest.merged:
        told = ", ".join(part.folder for part in manifest.merged)
        raise ResultsError(
            f"{path} was merged of runs of their own hosts ({told})",
            "resume or repeat those where they were measured, and merge them again",
        )
    named = manifest.asked.environments
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
        if environment and environment not in named:
            raise ResultsError(
                f"{path} measures {spec!r:.80}, and its plan names no interpreter of {environment}",
                "start a new run with --python",
            )
    return manifest
