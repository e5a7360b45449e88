"""`manifest.json`: what a run is, written once before anything is measured."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from app.cases.case import Case
from app.cases.errors import ResultsError
from app.cases.round import Limits

# 1: the first.
SCHEMA_VERSION = 1
MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything that a resumed run needs, so that it repeats the sweep as it was begun.

    `plan` is the validated plan as JSON values; `cases`, `rounds`, `limits` and
    `time_limit_s` are what it came to. `environment` describes the host that began the run.
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

    def to_json(self) -> dict[str, Any]:
        values = asdict(self)
        values["cases"] = [{"case_id": c.case_id, **c.to_json()} for c in self.cases]
        return values

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Manifest:
        values = dict(data)
        values["limits"] = Limits(**values["limits"])
        values["cases"] = tuple(
            Case.from_json({key: value for key, value in case.items() if key != "case_id"})
            for case in values["cases"]
        )
        return cls(**values)


def new_manifest(
    *,
    name: str,
    seed: int,
    rounds: int,
    time_limit_s: float,
    limits: Limits,
    plan: Mapping[str, Any],
    cases: Sequence[Case],
    environment: Mapping[str, Any],
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
        plan=plan,
        cases=tuple(cases),
        environment=environment,
        graphlap_version=graphlap_version(),
    )


def graphlap_version() -> str:
    """The installed version, or what a checkout that is not installed calls itself."""
    try:
        return metadata.version("graphlap")
    except metadata.PackageNotFoundError:
        return "0+checkout"


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
    if version != SCHEMA_VERSION:
        raise ResultsError(
            f"{folder} has results of schema {version} and this Graphlap reads {SCHEMA_VERSION}",
            "use the Graphlap that wrote it"
            + (f" ({data['graphlap_version']})" if data.get("graphlap_version") else ""),
        )
    try:
        return Manifest.from_json(data)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(folder, error) from None


def _damaged(folder: Path, error: Exception) -> ResultsError:
    return ResultsError(
        f"{folder / MANIFEST} can't be read ({error})", "restore it, or start a new run"
    )
