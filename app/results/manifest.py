"""`manifest.json`: what a run is, written once before anything is measured."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.cases.case import Case
from app.cases.errors import ResultsError
from app.cases.round import Limits
from app.machine.environment import graphlap_version
from app.plan.plan import Plan
from app.results.kept_files import KeptFile
from exporters.codec import from_json

SCHEMA_VERSION = 2
"""What is written. A later column is no new schema: readers pass over what they don't know.

1: the first.
2: a case's id tells only what differs from a default, operator times are called that.
"""
READABLE = (1, 2)
MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything that a resumed run needs, so that it repeats the sweep as it was begun.

    `plan` is the validated plan as JSON values; `cases`, `rounds`, `limits` and
    `time_limit_s` are what it came to. `environment` describes the host that began the run,
    `files` are the user's own that it depends on, `repeats` the id of the run that it repeats.
    """

    run_id: str
    name: str
    created_at_utc: str
    seed: int
    rounds: int
    time_limit_s: float
    limits: Limits
    plan: Mapping[str, Any]
    cases: tuple[Case, ...]
    environment: Mapping[str, Any]
    graphlap_version: str
    schema_version: int = SCHEMA_VERSION
    files: tuple[KeptFile, ...] = ()
    repeats: str = ""

    @property
    def asked(self) -> Plan:
        """The plan as it was given."""
        return Plan.model_validate(self.plan)


def new_manifest(
    *,
    name: str,
    seed: int,
    rounds: int,
    time_limit_s: float,
    limits: Limits,
    plan: Plan,
    cases: Sequence[Case],
    environment: Mapping[str, Any],
    files: tuple[KeptFile, ...] = (),
    repeats: str = "",
) -> Manifest:
    """A manifest with a fresh run id, dated now."""
    return Manifest(
        run_id=uuid.uuid4().hex[:12],
        name=name,
        created_at_utc=datetime.now(UTC).isoformat(timespec="milliseconds"),
        seed=seed,
        rounds=rounds,
        time_limit_s=time_limit_s,
        limits=limits,
        plan=plan.model_dump(mode="json"),
        cases=tuple(cases),
        environment=environment,
        graphlap_version=graphlap_version(),
        files=files,
        repeats=repeats,
    )


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a run folder; ResultsError for anything that is none of ours."""
    try:
        data = json.loads((folder / MANIFEST).read_text("utf-8"))
        version = data["schema_version"]
    except FileNotFoundError:
        raise ResultsError(
            f"{folder} is no run folder (it has no {MANIFEST})", "give the folder of a run"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(folder, error) from None
    if version not in READABLE:
        raise ResultsError(
            f"{folder} has results of schema {version} and this Graphlap reads up to "
            f"{SCHEMA_VERSION}",
            "use the Graphlap that wrote it"
            + (f" ({data['graphlap_version']})" if data.get("graphlap_version") else ""),
        )
    try:
        return _understood(data)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(folder, error) from None


def _understood(data: Mapping[str, Any]) -> Manifest:
    values = dict(data)
    if values["schema_version"] == 1:
        values["cases"] = [{**case, "naming": 1} for case in values["cases"]]
    manifest = from_json(Manifest, values, "manifest")
    assert manifest.asked  # what can't be validated is told now
    return manifest


def _damaged(folder: Path, error: Exception) -> ResultsError:
    return ResultsError(
        f"{folder / MANIFEST} can't be read ({error})", "restore it, or start a new run"
    )
