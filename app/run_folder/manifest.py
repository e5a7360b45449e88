"""`manifest.json`: what a run is, written once, with its files and the fingerprints of its inputs.

Fingerprints are of models, what a factory imports, a model's or images' folder, descriptions of
cards, libraries of execution providers, also those that packages bring, files of shapes and
interpreters. A run that is resumed must find all of them as they were.

A factory, inputs, weights and the like may change after a run; `files/` in its folder holds what
they were. An .onnx is not copied: the journal has what its export was made of.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import math
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from app.cases.case import Case
from app.cases.errors import FileError, PlanError, ResultsError, current_folder
from app.cases.round import Limits
from app.machine.environment import graphlap_version
from app.machine.installed_runtimes import device_library
from app.plan.plan import Plan, parse_plan
from app.run_folder.files import DOCUMENT, json_of
from exporters.codec import from_json, to_brief_json, to_json
from exporters.file_access import file_sha256, open_file, read_file
from exporters.model_names import (
    HUGGING_FACE,
    factory_path,
    is_factory_file,
    is_hugging_face,
    is_null,
    local_imports,
    original_of,
)
from exporters.types import FILE_ENDINGS
from runtimes.registry import parse_spec


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A file by its content, a folder by the names and sizes of what is in it.

    `runtime` is the `name:package[@environment]` whose library the file is: where its package lies
    is asked anew, so that another build of it is noticed wherever it is installed.
    """

    path: str
    sha256: str
    runtime: str = ""


def fingerprints(
    cases: Sequence[Case],
    accuracy: str = "",
    environments: Mapping[str, str] = MappingProxyType({}),
    *,
    is_remote: bool = False,
) -> tuple[Fingerprint, ...]:
    """Of all that can be read now, each once; what can't be read, its own stage reports.

    Cases that are measured `is_remote` load no library of this machine's packages.
    """
    paths = {path: None for case in cases for path in _paths(case)}
    paths |= dict.fromkeys([accuracy] if accuracy and Path(accuracy).is_dir() else [])
    paths |= dict.fromkeys(environments.values())
    entries: list[Fingerprint] = []
    for path in paths:
        with contextlib.suppress(OSError):
            entries.append(Fingerprint(path, fingerprint(Path(path))))
    if not is_remote:
        entries += _package_fingerprints(cases, environments)
    return tuple(entries)


def _package_fingerprints(
    cases: Iterable[Case], environments: Mapping[str, str]
) -> Iterator[Fingerprint]:
    """Of the libraries that packages bring, by the runtimes that are named by them."""
    specs = dict.fromkeys(case.runtime for case in cases)
    for spec in specs:
        if Path(parse_spec(spec).device).is_file():
            continue  # it is known by its path
        path = device_library(spec, environments)
        if path:
            with contextlib.suppress(OSError):
                yield Fingerprint(path, fingerprint(Path(path)), spec)


def fingerprint(path: Path) -> str:
    """The sha256 of a file's content, or of the list of a folder's files; OSError."""
    path = path.expanduser()
    if path.is_dir():
        return _folder_digest(path)
    try:
        with open_file(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except ValueError:  # no file has a NUL in its name
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from None


def _folder_digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = os.fsencode(path.relative_to(folder))
        digest.update(b"%s\0%d\0" % (name, path.stat().st_size))
    return digest.hexdigest()


def _paths(case: Case) -> Iterator[str]:
    for name in filter(None, (case.model, case.condition.model)):
        model = original_of(name) if is_null(name) else name
        if is_factory_file(model):
            yield from map(str, local_imports(factory_path(model)))
        elif is_hugging_face(model):
            folder = Path(model.removeprefix(HUGGING_FACE)).expanduser()
            if folder.is_dir():
                yield str(folder)
                yield from (str(path) for path in sorted(folder.iterdir()) if path.is_file())
        elif model.endswith(FILE_ENDINGS):
            yield model
    if case.condition.file:
        yield case.condition.file
    for device in parse_spec(case.runtime).device.split("+"):
        if device and Path(device).is_file():
            yield device


FOLDER = "files"
LARGEST_COPY_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class ArchivedFile:
    """A file as the plan names it; `kept` is its copy within the run folder, empty for a large
    one, of which only the hash is kept."""

    path: str
    sha256: str
    kept: str = ""


def archive_entries(cases: Iterable[Case], accuracy: str = "") -> tuple[ArchivedFile, ...]:
    """What the cases are made of, each file once; PlanError for one that can't be read."""
    paths = {path: None for case in cases for path in _archived_paths(case)}
    if accuracy and Path(accuracy).is_file():
        paths[accuracy] = None
    return tuple(map(_archive_entry, paths))


def _archived_paths(case: Case) -> Iterator[str]:
    for model in (case.model, case.condition.model):
        if is_factory_file(model):
            yield str(factory_path(model))
    yield from case.given.files


def _archive_entry(path: str) -> ArchivedFile:
    file = Path(path)
    if file.exists() and not file.is_file():  # a pipe would be waited for
        raise PlanError(f"{path} is no file", "give a file")
    try:
        digest, size = file_sha256(file), file.stat().st_size
    except OSError as error:
        raise PlanError(f"{path} can't be read ({error.strerror})", "give a file") from None
    is_small = size <= LARGEST_COPY_BYTES
    return ArchivedFile(path, digest, f"{FOLDER}/{digest}{file.suffix}" if is_small else "")


SCHEMA_VERSION = 4
"""What is written and read. A later column is no new schema: readers pass over it."""
MANIFEST = "manifest.json"
FULL_TABLE = "results.full.csv"
"""The file with every column."""
MAXIMUM_ROUNDS = 2 * 10**8
"""Of a case: 10,000 a side of 10,000 comparisons with itself."""
LARGEST_SIZE = 2**31 - 1
"""Of an axis, as plans allow it."""
_encode = json.JSONEncoder().encode


class DamagedManifest(FileError):
    """A run folder whose manifest can't be read."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything that a resumed run needs, so that it repeats the sweep as it was begun.

    `plan` is the validated plan as JSON values, `rounds`, `limits` and `time_limit_s` are what it
    came to. `cases` are those of the plan. `environment` describes the host that began the run,
    `files` are the user's own that it depends on, `repeats` the id of the run that it repeats,
    `fingerprints` are of what else it depends on. Relative paths of the cases count from the folder
    `started_in`, if any. Rounds are spread over `spread_s`, or over `contended_spread_s` where
    other work takes the core, and the moments of arriving requests are drawn from `arrivals_seed`.
    `assumed_sizes` are those axes of each model whose size nobody gave.
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
    files: tuple[ArchivedFile, ...] = ()
    repeats: str = ""
    fingerprints: tuple[Fingerprint, ...] = ()
    started_in: str = ""
    spread_s: float = 0.0
    contended_spread_s: float = 0.0
    arrivals_seed: int = 0
    assumed_sizes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def requested_plan(self) -> Plan:
        """The plan as it was given."""
        return Plan.model_validate(self.plan)


def new_manifest(plan: Plan, cases: Iterable[Case], **facts: Any) -> Manifest:
    """A manifest with a fresh run id, dated now; `facts` are its other fields."""
    return Manifest(
        run_id=uuid.uuid4().hex[:12],
        created_at_utc=datetime.now(UTC).isoformat(timespec="milliseconds"),
        plan=plan.model_dump(mode="json"),
        cases=tuple(cases),
        graphlap_version=graphlap_version(),
        started_in=str(current_folder() or ""),
        **facts,
    )


def manifest_text(manifest: Manifest) -> str:
    """JSON with a line for each case, which tells what is not at its default: of a hundred
    thousand cases that is a third of what all fields take."""
    parts = []
    for entry in fields(manifest):
        value = getattr(manifest, entry.name)
        if entry.name == "cases":
            lines = ",".join(f"\n  {_encode(to_brief_json(case))}" for case in value)
            text = f"[{lines}\n ]"
        else:
            text = json.dumps(to_json(value), indent=1).replace("\n", "\n ")
        parts.append(f' "{entry.name}": {text}')
    return DOCUMENT.sealed(("{\n" + ",\n".join(parts) + "\n}\n").encode()).decode()


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a run folder; ResultsError for anything that is none of ours, and
    DamagedManifest for one of ours that can't be understood."""
    try:
        text = read_file(folder / MANIFEST)
        data = json_of(text)
        version = data["schema_version"]
    except (FileNotFoundError, NotADirectoryError):
        reason = f"it has no {MANIFEST}" if folder.is_dir() else "it does not exist"
        if folder.is_file():
            reason = "it is a file"
        raise ResultsError(
            f"{folder} is no run folder ({reason})", "give the folder of a run"
        ) from None
    except OSError as error:
        raise FileError(*_unreadable(folder, error)) from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _damage_error(folder, error) from None
    if type(version) is not int:
        raise _damage_error(
            folder, ValueError(f"schema_version is {version!r:.40}, not an integer")
        )
    if version != SCHEMA_VERSION:
        raise ResultsError(
            f"{folder} has results of schema {version} and this Graphlap reads {SCHEMA_VERSION}",
            "use the Graphlap that wrote it"
            + (f" ({data['graphlap_version']})" if data.get("graphlap_version") else ""),
        )
    try:
        DOCUMENT.check(text)
        return _parse_manifest(data)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _damage_error(folder, error) from None


def _parse_manifest(data: Mapping[str, Any]) -> Manifest:
    values = dict(data)
    manifest = from_json(Manifest, values, "manifest", finite=True)
    try:
        parse_plan(dict(manifest.plan), "its plan")
    except PlanError as fault:
        raise ValueError(fault.cause) from None
    if not 1 <= manifest.rounds <= MAXIMUM_ROUNDS:
        raise ValueError(f"manifest.rounds is {manifest.rounds}, not 1 to {MAXIMUM_ROUNDS:,}")
    for name in ("spread_s", "contended_spread_s"):
        if not 0.0 <= (seconds := getattr(manifest, name)) < math.inf:
            raise ValueError(f"manifest.{name} is {seconds}, no time")
    if not 0.0 < manifest.time_limit_s < math.inf:
        raise ValueError(f"manifest.time_limit_s is {manifest.time_limit_s}, no time")
    for case in manifest.cases:
        if case.threads < 0:
            raise ValueError(f"a case has {case.threads} threads")
        for axis, size in case.axes.items():
            if not 0 <= size <= LARGEST_SIZE:
                raise ValueError(f"a case has {size} for its axis {axis!r:.40}")
    return manifest


def _damage_error(folder: Path, error: Exception) -> DamagedManifest:
    return DamagedManifest(*_unreadable(folder, error))


def _unreadable(folder: Path, error: Exception) -> tuple[Path, str, str]:
    return folder / MANIFEST, f"can't be read ({error})", "restore it, or start a new run"


def environments(
    manifest: Manifest,
    recorded_hosts: Mapping[str, Mapping[str, Any]],
    rows: Iterable[Mapping[str, Any]],
) -> Mapping[str, Mapping[str, Any]]:
    """What each host of these rows was; `told` is by the journals, of which those of a host that
    only began the run tell no row. Where they tell none it is the host that began the run."""
    initial, hosts = manifest.environment, {str(row.get("host")) for row in rows}
    measured_hosts = {name: host for name, host in recorded_hosts.items() if name in hosts}
    if measured_hosts or recorded_hosts:
        return measured_hosts or recorded_hosts
    return {str(initial.get("host") or ""): initial} if initial else {}
