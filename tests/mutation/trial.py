"""Tests against mutants, each in a fork of one process that has collected the tests of all.

The changed file is compiled in memory, and the functions that were imported from it get its code.
So no file is written, and a trial takes as long as its tests.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType
from typing import TextIO

import pytest

from tests.checkout import ROOT
from tests.mutation.sites import Mutant, tree_with

FOUND, SURVIVED, ODD = "found", "survived", "not tried"
TEST_LIMIT_S = 20
"""So long may one test take: a loop that never ends is noticed."""
TRIAL_LIMIT_S = 60
"""And one trial, for code that doesn't react to a test's limit. Its process is killed."""
MOST_BYTES = 8 * 2**30
"""So much data may a trial have: a loop that gathers without end is noticed."""
PROFILE = "mutants"
_NAMES = (SURVIVED, FOUND, ODD)


@dataclass(frozen=True, slots=True)
class Outcome:
    name: str
    by: str = ""
    """The test that failed first, or how else it was found."""


Work = Sequence[tuple[Mutant, Sequence[str]]]
Shown = Callable[[Mutant, Outcome], None]


def outcomes(work: Work, shown: Shown | None = None, cores: int = 2) -> dict[Mutant, Outcome]:
    """What the tests of each mutant came to; `shown` is called for each as it ends.

    A test that fails without the mutant too finds nothing: it is left out, and the others tried.
    """
    files = sorted({test.partition("::")[0] for _, tests in work for test in tests})
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", f"--timeout={TEST_LIMIT_S}"]
    with tempfile.TemporaryDirectory(prefix="graphlap-mutants-") as scratch:
        log = Path(scratch) / "log"
        with _written_to(log) as terminal:
            trials = _Trials(work, cores, Path(scratch), shown, terminal)
            code = pytest.main([*options, *files], plugins=[trials])
        if len(trials.results) < len(work):
            raise RuntimeError(f"pytest ended with {code}:\n{log.read_text('utf-8')}")
    return trials.results


@contextlib.contextmanager
def _written_to(log: Path) -> Iterator[TextIO]:
    """The process' output goes to a file, that of C code too; gives the stream it went to."""
    sys.stdout.flush()
    kept = os.dup(1), os.dup(2)
    with log.open("wb") as file, os.fdopen(os.dup(1), "w") as terminal:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
        try:
            yield terminal
        finally:
            sys.stdout.flush()
            for stream, old in zip((1, 2), kept, strict=True):
                os.dup2(old, stream)
                os.close(old)


@dataclass
class _Running:
    mutant: Mutant | None
    tests: Sequence[str]
    end_s: float
    scratch: Path
    report: int
    """The pipe that gets the name of the test that failed."""


@dataclass(eq=False)  # pytest keeps plugins in sets
class _Trials:
    """A pytest plugin that tries mutants instead of running what was collected."""

    work: Work
    cores: int
    scratch: Path
    shown: Shown | None
    terminal: TextIO
    results: dict[Mutant, Outcome] = field(default_factory=dict)
    _sound: dict[str, bool] = field(default_factory=dict)
    """Whether a test passes without any mutant."""
    _doubted: dict[str, list[tuple[_Running, Outcome]]] = field(default_factory=dict)
    """What a test has found before that is known."""
    _failed: str = ""
    _number: int = 0

    def pytest_configure(self) -> None:
        from hypothesis import Phase, settings  # after pytest, which warns of it otherwise

        # A failure is enough: that its values could be smaller ones doesn't matter here.
        fixed, phases = settings.get_profile("fixed"), (Phase.explicit, Phase.generate)
        settings.register_profile(PROFILE, fixed, phases=phases)
        settings.load_profile(PROFILE)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed = self._failed or report.nodeid

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for mutant, _ in self.work:
            names = mutant.file.relative_to(ROOT).with_suffix("").parts
            importlib.import_module(".".join(names))
        functions = _functions({str(mutant.file) for mutant, _ in self.work})
        items = {item.nodeid: item for item in session.items}
        waiting: list[tuple[Mutant | None, Sequence[str]]] = list(reversed(self.work))
        running: dict[int, _Running] = {}
        try:
            while waiting or running:
                while waiting and len(running) < self.cores:
                    mutant_or_none, tests = waiting.pop()
                    chosen = [items[test] for test in tests if test in items]
                    process, started = self._start(mutant_or_none, chosen, functions)
                    running[process] = started
                for trial, outcome in _ended(running):
                    waiting += self._next(trial, outcome)
        finally:
            for process in running:
                os.kill(process, signal.SIGKILL)
        return True

    def _start(
        self, mutant: Mutant | None, items: Sequence[pytest.Item], functions: Sequence[FunctionType]
    ) -> tuple[int, _Running]:
        self._number += 1
        scratch = self.scratch / f"{self._number}"
        scratch.mkdir()
        reading, writing = os.pipe()
        process = os.fork()
        if process:
            os.close(writing)
            tests = tuple(item.nodeid for item in items)
            end_s = time.monotonic() + TRIAL_LIMIT_S
            return process, _Running(mutant, tests, end_s, scratch, reading)
        name, by = ODD, ""
        try:
            os.environ["PYTEST_DEBUG_TEMPROOT"] = str(scratch)
            resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
            if items and (mutant is None or exchange(mutant, functions)):
                name, by = (FOUND, self._failed) if self._fails(items) else (SURVIVED, "")
        except (KeyboardInterrupt, SystemExit, pytest.exit.Exception) as error:
            name, by = FOUND, type(error).__name__  # pytest lets them through
        except BaseException:
            by = traceback.format_exc()
        finally:
            with contextlib.suppress(BaseException):
                os.write(writing, by.encode())
            os._exit(_NAMES.index(name))

    def _fails(self, items: Sequence[pytest.Item]) -> bool:
        """Run them until one fails."""
        for item, following in zip(items, (*items[1:], None), strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._failed:
                return True
        return False

    def _next(
        self, trial: _Running, outcome: Outcome
    ) -> Iterator[tuple[Mutant | None, Sequence[str]]]:
        """What has to be tried because of this outcome."""
        if trial.mutant is None:
            (test,) = trial.tests
            self._sound[test] = outcome.name == SURVIVED
            for doubted in self._doubted.pop(test):
                yield from self._next(*doubted)
        elif outcome.by not in trial.tests or self._sound.get(outcome.by):
            self.results[trial.mutant] = outcome
            if self.shown:
                with contextlib.redirect_stdout(self.terminal):
                    self.shown(trial.mutant, outcome)
                self.terminal.flush()
        elif outcome.by in self._sound:
            yield trial.mutant, tuple(test for test in trial.tests if test != outcome.by)
        elif outcome.by in self._doubted:
            self._doubted[outcome.by].append((trial, outcome))
        else:
            self._doubted[outcome.by] = [(trial, outcome)]
            yield None, (outcome.by,)


def _ended(running: dict[int, _Running]) -> Iterator[tuple[_Running, Outcome]]:
    """Wait for one at least, or for a limit; those that ended leave `running`."""
    left_s = min(trial.end_s for trial in running.values()) - time.monotonic()
    ready, _, _ = select.select([t.report for t in running.values()], [], [], max(left_s, 0))
    for process, trial in list(running.items()):
        late = time.monotonic() >= trial.end_s and trial.report not in ready
        if not late and trial.report not in ready:
            continue
        if late:
            os.kill(process, signal.SIGKILL)
        del running[process]
        with os.fdopen(trial.report) as report:
            by = report.read()
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        shutil.rmtree(trial.scratch, ignore_errors=True)
        if late:
            yield trial, Outcome(FOUND, f"the limit of {TRIAL_LIMIT_S} s")
        elif code in range(len(_NAMES)):
            yield trial, Outcome(_NAMES[code], by)
        else:
            yield trial, Outcome(FOUND, f"the end of its process ({code})")


def _functions(files: Collection[str]) -> list[FunctionType]:
    """All that were imported from these files, nested ones and methods too."""
    gc.unfreeze()  # what is frozen isn't among the objects
    found = [
        function
        for function in gc.get_objects()
        if type(function) is FunctionType  # `isinstance` would ask proxies of other packages
        and function.__code__.co_filename in files
    ]
    gc.freeze()
    return found


def exchange(mutant: Mutant, functions: Iterable[FunctionType]) -> bool:
    """Give functions the code of the mutant; whether any has got other code."""
    file = str(mutant.file)
    changed: dict[tuple[str, int], CodeType] = {}
    waiting = [compile(tree_with(mutant), file, "exec")]
    while waiting:
        code = waiting.pop()
        changed[code.co_qualname, code.co_firstlineno] = code
        waiting += [part for part in code.co_consts if isinstance(part, CodeType)]
    exchanged = False
    for function in functions:
        old = function.__code__
        new = changed.get((old.co_qualname, old.co_firstlineno))
        if old.co_filename != file or new is None or old.co_name == "<lambda>":
            continue  # two lambdas of a line have one name; they come anew with their function
        if old.co_freevars == new.co_freevars:
            exchanged |= old != new
            function.__code__ = new
    return exchanged
