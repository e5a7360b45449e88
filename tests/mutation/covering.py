"""Which fast tests run which line of the product, and how long; kept by the state of the tree."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
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
class Covering:
    lines: dict[str, dict[int, tuple[str, ...]]]
    """By file, from the root, and line: the names of its tests."""
    durations_s: dict[str, float]
    """Of each test while it was traced."""
    digests: dict[str, str]
    """Of the content of the traced test files, by their path from the root."""

    def tests(self, file: str, line: int, limit_s: float) -> tuple[str, ...]:
        """Those that run a line and together take no longer: first those of the file's own folder,
        the quickest before the others. At least one, where there are any."""
        own = f"tests/{file.rpartition('/')[0]}/"
        names = sorted(
            self.lines.get(file, {}).get(line, ()),
            key=lambda name: (not name.startswith(own), self.durations_s[name], name),
        )
        total_s, number = 0.0, 0
        for name in names:
            total_s += self.durations_s[name]
            if number and total_s > limit_s:
                break
            number += 1
        return tuple(names[:number])


def covering_tests(packages: Sequence[str], folders: Sequence[str]) -> Covering:
    """Of the lines of these packages, by running the fast tests of these folders. What is kept of
    the same product is taken: only test files that are new or changed run."""
    kept = KEPT / f"{_state(packages)}.json"
    known = _read(kept) if kept.is_file() else Covering({}, {}, {})
    paths = {path for folder in folders for path in ROOT.joinpath(folder).rglob("test_*.py")}
    digests = {
        path.relative_to(ROOT).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(paths)
        if fast_tests(path)
    }
    new = [file for file, digest in digests.items() if known.digests.get(file) != digest]
    gone = [file for file in known.digests if not ROOT.joinpath(file).is_file()]
    if new or gone:
        traced = _traced(packages, new, digests) if new else Covering({}, {}, {})
        known = _merged(_without(known, {*new, *gone}), traced)
        KEPT.mkdir(exist_ok=True)
        partial = kept.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(asdict(known)), "utf-8")
        partial.replace(kept)
        states = sorted(KEPT.glob("*.json"), key=lambda file: file.stat().st_mtime)
        for old in states[:-KEPT_STATES]:
            old.unlink()
    return known


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


def _read(kept: Path) -> Covering:
    content = json.loads(kept.read_text("utf-8"))
    lines = {
        file: {int(line): tuple(tests) for line, tests in tests_by_line.items()}
        for file, tests_by_line in content["lines"].items()
    }
    return Covering(lines, content["durations_s"], content["digests"])


def _without(covering: Covering, files: Collection[str]) -> Covering:
    lines = {
        file: {
            line: tuple(test for test in tests if test.partition("::")[0] not in files)
            for line, tests in tests_by_line.items()
        }
        for file, tests_by_line in covering.lines.items()
    }
    digests = {file: digest for file, digest in covering.digests.items() if file not in files}
    return Covering(lines, covering.durations_s, digests)


def _merged(first: Covering, second: Covering) -> Covering:
    lines = {
        file: {
            line: (*tests.get(line, ()), *more.get(line, ())) for line in sorted({*tests, *more})
        }
        for file in sorted({*first.lines, *second.lines})
        for tests, more in [(first.lines.get(file, {}), second.lines.get(file, {}))]
    }
    durations_s = first.durations_s | second.durations_s
    return Covering(lines, durations_s, first.digests | second.digests)


def _traced(packages: Iterable[str], files: Sequence[str], digests: Mapping[str, str]) -> Covering:
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
        covering = Covering({}, {}, {file: digests[file] for file in files})
        for shard, process in zip(shards, running, strict=True):
            if process.wait() not in TRACED:
                log = (shard / "log").read_text("utf-8")
                raise RuntimeError(f"pytest ended with {process.returncode}:\n{log}")
            covering = _merged(covering, _result(shard))
        return covering


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


def _result(shard: Path) -> Covering:
    notes = json.loads((shard / "notes.json").read_text("utf-8"))
    left_out = {"", *notes["failed"]}
    data = coverage.CoverageData(str(shard / "data"))
    data.read()
    lines = {
        Path(file).relative_to(ROOT).as_posix(): {
            line: tuple(sorted(set(tests) - left_out))
            for line, tests in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }
    return Covering(lines, notes["durations_s"], {})
