"""Which fast tests run which line of the product, and how long; kept by the state of the tree."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import coverage

from tests.checkout import ROOT
from tests.fast import fast_tests
from tests.mutation.contexts import NOTES

KEPT = ROOT / ".mutation_cache"
"""The tests by line for the latest states of the tree, which git ignores."""
KEPT_STATES = 4
PROCESSES = 2
TRACED = (0, 1, 5)
"""pytest's exit codes: some tests may fail while they are traced, and all of a file be `alone`."""
TRACER = "tests/mutation/contexts.py"


@dataclass(frozen=True)
class TracedFile:
    """A test file by its content: how long each of its tests took, and which ran a line, by product
    file from the root and line."""

    digest: str
    durations_s: dict[str, float]
    lines: dict[str, dict[str, list[str]]]


@dataclass(frozen=True)
class Covering:
    files: dict[str, TracedFile]
    """By the test file's path from the root."""

    def tests(self, file: str, line: int, limit_s: float) -> tuple[str, ...]:
        """Those that run a line and together take no longer: first those of the file's own folder,
        the quickest before the others. At least one, where there are any."""
        own = f"tests/{file.rpartition('/')[0]}/"
        durations_s = {
            name: traced.durations_s[name]
            for traced in self.files.values()
            for name in traced.lines.get(file, {}).get(str(line), ())
        }
        total_s, chosen = 0.0, list[str]()
        for name in sorted(durations_s, key=lambda n: (not n.startswith(own), durations_s[n], n)):
            total_s += durations_s[name]
            if chosen and total_s > limit_s:
                break
            chosen.append(name)
        return tuple(chosen)


def covering_tests(packages: Sequence[str], folders: Sequence[str]) -> Covering:
    """Of the lines of these packages, by running the fast tests of these folders. What is kept of
    the same product is taken: only test files that are new or changed run."""
    kept = KEPT / f"{_state(packages)}.json"
    known = json.loads(kept.read_text("utf-8")) if kept.is_file() else {}
    files = {
        name: TracedFile(**entry)
        for name, entry in known.items()
        if (ROOT / name).is_file() and entry["digest"] == _digest(ROOT / name)
    }
    paths = {path for folder in folders for path in ROOT.joinpath(folder).rglob("test_*.py")}
    names = [path.relative_to(ROOT).as_posix() for path in sorted(paths) if fast_tests(path)]
    new = [name for name in names if name not in files]
    if new or len(files) < len(known):
        files |= _traced(packages, new) if new else {}
        KEPT.mkdir(exist_ok=True)
        partial = kept.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps({name: asdict(f) for name, f in files.items()}), "utf-8")
        partial.replace(kept)
        states = sorted(KEPT.glob("*.json"), key=lambda file: file.stat().st_mtime)
        for old in states[:-KEPT_STATES]:
            old.unlink()
    return Covering(files)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _state(packages: Iterable[str]) -> str:
    """A digest of all that tests depend on but their own files: what git has or would have."""
    state = hashlib.sha256(repr((*packages, sys.version, coverage.__version__)).encode())
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in sorted(set(listed.stdout.split("\0"))):
        file = ROOT / name
        # Pages are no part of it, and neither is what happens here after the tests were traced.
        later = file.parent == Path(__file__).parent and name != TRACER
        is_test = name.startswith("tests/") and file.name.startswith("test_")
        if file.is_file() and not later and not is_test and file.suffix != ".md":
            state.update(f"{name}\0{file.stat().st_size}\0".encode())
            state.update(file.read_bytes())
    return state.hexdigest()[:16]


def _traced(packages: Iterable[str], files: Sequence[str]) -> dict[str, TracedFile]:
    """The fast tests of these files, in two processes."""
    with tempfile.TemporaryDirectory() as scratch:
        settings = Path(scratch) / "coverage.ini"
        included = "\n    ".join(f"{ROOT}/{package}/*" for package in packages)
        settings.write_text(f"[run]\ninclude =\n    {included}\n", "utf-8")
        count = min(PROCESSES, len(files))
        shards = [Path(scratch) / f"{number}" for number in range(count)]
        running = [
            _tracer(settings, shard, files[number::count]) for number, shard in enumerate(shards)
        ]
        traced = {name: TracedFile(_digest(ROOT / name), {}, {}) for name in files}
        for shard, process in zip(shards, running, strict=True):
            if process.wait() not in TRACED:
                log = (shard / "log").read_text("utf-8")
                raise RuntimeError(f"pytest ended with {process.returncode}:\n{log}")
            _add_result(traced, shard)
        return traced


def _tracer(settings: Path, shard: Path, files: Sequence[str]) -> subprocess.Popen[bytes]:
    shard.mkdir()
    command = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}"]
    command += [f"--data-file={shard}/data", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "tests.fast", "--only-fast", "-p", "tests.mutation.contexts"]
    command += ["-m", "not alone", *files]
    environment = {
        **os.environ,
        "HYPOTHESIS_STORAGE_DIRECTORY": str(shard),
        NOTES: str(shard / "notes.json"),
    }
    with (shard / "log").open("wb") as log:
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log)


def _add_result(traced: Mapping[str, TracedFile], shard: Path) -> None:
    notes = json.loads((shard / "notes.json").read_text("utf-8"))
    left_out = {"", *notes["failed"]}
    for test, seconds in notes["durations_s"].items():
        traced[test.partition("::")[0]].durations_s[test] = seconds
    data = coverage.CoverageData(str(shard / "data"))
    data.read()
    for path in data.measured_files():
        file = Path(path).relative_to(ROOT).as_posix()
        for line, tests in data.contexts_by_lineno(path).items():
            for test in sorted(set(tests) - left_out):
                lines = traced[test.partition("::")[0]].lines.setdefault(file, {})
                lines.setdefault(str(line), []).append(test)
