"""This machine as the place where work runs: workers are child processes of ours."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Self

import psutil

from app.machine.child import Bell, Child, Unstarted, Worker
from app.machine.placement import keep_to, on_cores, usable_cores, with_huge_pages
from app.machine.telemetry import Telemetry, Watch
from app.machine.template import Template
from app.plan.capabilities import KINDS
from exporters import install_layout
from runtimes.registry import environment_of

SERVER_LIMIT_BYTES = 3 * 2**30
"""A worker that serves many requests is replaced beyond this: it keeps what torch has freed."""
_EXPORTS = ""


class ThisMachine:
    """A context manager over its workers; `commands` are those that run none of `KINDS`.

    `environments` are the interpreters of other environments than ours, by name. `telemetry` is
    what is read of the devices while a round runs; None reads nothing. What measures runs on
    `cores`, () for any; this thread keeps off them, if there are others, until this is closed. An
    export never runs beside a round, so that it may use them all.
    """

    def __init__(
        self,
        telemetry: Telemetry | None = None,
        commands: Mapping[str, Sequence[str]] | None = None,
        cores: Collection[int] = (),
        environments: Mapping[str, str] = MappingProxyType({}),
        huge_pages: bool = False,
    ) -> None:
        self.telemetry = telemetry or Telemetry()
        self._commands, self._environments = commands or {}, environments
        self._environ = with_huge_pages(os.environ) if huge_pages else os.environ
        self.bell = Bell()
        self._idle: dict[str, list[Worker]] = {}
        self._prepared_workers: dict[str, Worker] = {}
        self._templates: dict[tuple[str, int], Template] = {}
        self._next_templates: dict[tuple[str, int], Template] = {}
        self._cases: dict[tuple[str, int], set[str]] = {}
        self._usable, self._cores = usable_cores(), cores
        other_cores = self._usable.difference(cores)
        self._is_confined = bool(cores and other_cores)
        self.has_other_core = len(cores or self._usable) > 1
        """Whether a process can start beside one on a core of its own."""
        if self._is_confined:
            keep_to(other_cores)

    def prepare(self, kind: str) -> None:
        """Start a worker of our own environment that waits for its job, unless one does already: it
        imports our modules while other things than measuring go on."""
        if kind not in self._prepared_workers:
            self._prepared_workers[kind] = self._start_worker(kind)

    def start(
        self,
        kind: str,
        environment: str = "",
        reused: str = "",
        template: tuple[str, int, str] | None = None,
    ) -> Worker:
        """A worker of this kind, which waits for its job; of the environment of this name, empty
        for ours. One that was given back under the name `reused` will do, and a fork of a
        template, by the engine and threads of that and the case that it is for."""
        idle = self._take_idle(reused) if reused else None
        if idle is not None:  # of a card: nothing is timed beside it
            self._import_ahead()
            return idle
        if template is not None and (fork := self._fork(*template)) is not None:
            return fork
        worker = None if environment else self._prepared_workers.pop(kind, None)
        if worker is not None and not worker.ended():
            return worker
        if worker is not None:
            worker.close()
        return self._start_worker(kind, environment)

    def _fork(self, engine: str, threads: int, case_id: str) -> Worker | None:
        """None in the first round of a case, whose memory and start are those of a process of its
        own, and where no other case would have the template too."""
        if sys.platform != "linux":
            return None
        cases = self._cases.setdefault((engine, threads), set())
        is_first = case_id not in cases
        cases.add(case_id)
        if is_first or len(cases) == 1:
            return None
        template = self._templates.get((engine, threads))
        if template is None or case_id in template.served:
            template = self._renew(engine, threads)
        template.served.add(case_id)
        return template.fork(self.bell)

    def _renew(self, engine: str, threads: int) -> Template:
        """A template for one more pass. The first that a pass renews has those of the next import
        while processes compile and warm up that measure later."""
        key = engine, threads
        template = self._next_templates.pop(key, None) or self._start_template(key)
        self._templates[key] = template
        if key == next(iter(self._templates)):
            self._import_ahead()
        return template

    def _import_ahead(self) -> None:
        """Have all templates of the next pass begin to import."""
        for key, cases in self._cases.items():
            if len(cases) > 1 and key not in self._next_templates:
                self._next_templates[key] = self._start_template(key)

    def _start_template(self, key: tuple[str, int]) -> Template:
        with on_cores(self._cores or self._usable):
            return Template(*key, self._environ)

    def _start_worker(self, kind: str, environment: str = "") -> Worker:
        command = self._commands.get(kind) or install_layout.command(
            KINDS[kind].module, python=self._environments[environment] if environment else ""
        )
        try:
            if kind == "export":
                with on_cores(self._usable):
                    return Child(command, self.bell)
            with on_cores(self._cores or self._usable):
                return Child(command, self.bell, self._environ)
        except OSError as error:  # an environment's interpreter may go while a sweep runs
            return Unstarted(error)

    def watch(self, worker: Worker, memory_limit_bytes: int, gpus: tuple[int, ...]) -> Watch:
        """An eye on a worker that was started here; 0 for no limit, `gpus` are CUDA's numbers."""
        return Watch(worker.pid, memory_limit_bytes, gpus, self.telemetry)

    def exporter(self) -> Worker:
        """An export process, idle or new, which serves one request after another."""
        return self._take_idle(_EXPORTS) or self.start("export")

    def checker(self, runtime: str) -> Worker:
        """A process that checks cases of `name[:device][@release]`, idle or new, likewise; idle
        ones of other runtimes are ended."""
        self._end_idle([name for name in self._idle if name != runtime])
        return self._take_idle(runtime) or self.start("check", environment_of(runtime))

    def give_back(self, server: Worker, runtime: str = _EXPORTS) -> None:
        """Keep a process that can serve again under the name of what it serves."""
        if server.ended() or _is_large(server):
            server.close()
        else:
            self._idle.setdefault(runtime, []).append(server)

    def be_quiet(self) -> None:
        """End what is idle: it holds nothing that is not stored, and cores and memory."""
        self._end_idle(list(self._idle))

    def wait(self, seconds: float) -> None:
        """Until a worker says something, at the latest after so long."""
        self.bell.wait(seconds)

    def close(self) -> None:
        self.be_quiet()
        for worker in self._prepared_workers.values():
            worker.close()
        self._prepared_workers.clear()
        self._templates.clear()
        self._next_templates.clear()
        self.bell.close()
        if self._is_confined:
            keep_to(self._usable)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take_idle(self, runtime: str) -> Worker | None:
        waiting = self._idle.get(runtime, [])
        while waiting:
            idle = waiting.pop()
            if not idle.ended():
                return idle
            idle.close()
        return None

    def _end_idle(self, runtimes: Sequence[str]) -> None:
        for runtime in runtimes:
            for server in self._idle.pop(runtime):
                server.close()


def _is_large(server: Worker) -> bool:
    try:
        return server.pid is None or (
            psutil.Process(server.pid).memory_info().rss > SERVER_LIMIT_BYTES
        )
    except psutil.Error:
        return True
