"""Scheduler of a plan's grid on hosts: models are exported here, then shared out by comparison
group; what a lost host has not finished goes to another as a new share.

Before anything is written the hosts are reached and compared with this machine. What differs and
matters is a HostError that names both sides; a clock that is off stands in the rows.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from app.cases.case import Case
from app.cases.round import RoundResult
from app.cases.status import Status
from app.formatting.text import counted
from app.machine.installed_runtimes import runtime
from app.machine.placement import as_list
from app.plan.plan import Plan
from app.plan.reference_cases import baselines
from app.run_folder.journal import (
    DiscardedRound,
    Line,
    journal_text,
    line_values,
    share_folders,
)
from app.run_folder.manifest import MANIFEST, manifest_text
from app.run_folder.run import SAMPLES, Run
from app.sweep.remote.carriers import Carrier, ask_hosts, open_carrier
from app.sweep.remote.host import Host
from app.sweep.remote.link import HostError
from app.sweep.scheduling.round_jobs import (
    as_status,
    neighbour_case,
    precision_refusal,
)
from app.sweep.scheduling.round_scheduler import GridScheduler
from app.sweep.work.base import Work
from app.sweep.work.round import SettledRound
from app.sweep.work.share import BUNDLE, EARLIER, Bundle, HostNews, ShareWork, packed
from exporters.diagnostics import Diagnostic, diagnostic
from exporters.model_names import is_factory_file, is_hugging_face, original_of
from runtimes.registry import parse_spec


@dataclass(frozen=True, slots=True)
class Cluster:
    """Hosts that can measure for us; with `send_code` files of the user's own may run there."""

    carrier: Carrier
    hosts: tuple[Host, ...]
    send_code: bool = False

    @property
    def runtimes(self) -> tuple[str, ...]:
        """Those that any of the hosts has, in the order of the first one's table."""
        names = dict.fromkeys(name for host in self.hosts for name in host.runtimes)
        return tuple(name for name in names if any(host.has(name) for host in self.hosts))

    def cases_of(self, cases: Sequence[Case]) -> tuple[Case, ...]:
        """Each case once for every host that has its runtime, as it is where none has it."""
        hosted_cases: list[Case] = []
        for case in cases:
            able = [host.name for host in self.hosts if host.has(case.runtime)]
            hosted_cases += [replace(case, host=name) for name in able] or [case]
        return tuple(hosted_cases)


@contextmanager
def cluster_of(plan: Plan) -> Iterator[Cluster | None]:
    """The hosts of a plan while it is measured, None without a cluster; HostError."""
    if not plan.cluster:
        yield None
        return
    with closing(open_carrier(plan.cluster, plan.insecure_cluster)) as carrier:
        hosts = ask_hosts(carrier)
        reject_cores(hosts, plan.chosen_cores, plan.realtime is not None)
        yield Cluster(carrier, hosts, plan.send_code)


def reject_cores(hosts: Sequence[Host], chosen_cores: Collection[int], is_realtime: bool) -> None:
    """HostError where chosen cores are not a host's, or leave it none for a real-time round."""
    for host in hosts:
        if missing := set(chosen_cores) - set(host.cores):
            raise HostError(
                f"{host.name} has the cores {as_list(host.cores)}, and --cores names "
                f"{as_list(missing)}",
                "choose among those that all hosts have, or remove --cores",
            )
        if is_realtime and set(chosen_cores) >= set(host.cores):
            raise HostError(
                f"--realtime on all the cores of {host.name} could hang it",
                "give --cores that leave at least one to everything else",
            )


def clock_warning(host: Host) -> Iterator[Diagnostic]:
    """That its times are those of a clock that differs from ours, if it does."""
    if offset_s := host.clock_off_s:
        direction = "ahead" if offset_s > 0 else "behind"
        yield diagnostic("host_clock_off", host.name, offset_s=abs(offset_s), direction=direction)


_OF_A_CLUSTER = ("cluster", "per_host", "send_code", "insecure_cluster")


_RESUME = "resume the run when it is there"


def refused_everywhere(
    case: Case, hosts: Sequence[Host], send_code: bool
) -> tuple[Status, str] | None:
    """The status and the reason, in one sentence; None for a case that some host can measure."""
    name = parse_spec(case.runtime).name
    for model in (case.model, case.condition.model) if runtime(name).builds_module else ():
        if is_hugging_face(model):
            reason = f"{name} builds {model} from a folder of this machine"
            return "unsupported", f"{reason}: remove it from --runtimes"
        if is_factory_file(model) and not send_code:
            reason = f"{name} would run {model} on other machines"
            return "unsupported", f"{reason}: add --send-code, or remove it from --runtimes"
    own_hosts = [host for host in hosts if case.host in ("", host.name)]
    if not own_hosts:
        return "cancelled", f"{case.host} is not in the cluster: {_RESUME}"
    states = {host.name: host.runtime(case.runtime) for host in own_hosts}
    if not all(state.reason for state in states.values()):
        return precision_refusal(case)
    reason_text = "; ".join(f"{host}: {state.reason}" for host, state in states.items())
    remedy = states[own_hosts[0].name].remedy
    return "unavailable", f"no host has {case.runtime} ({reason_text}): {remedy}"


def comparison_groups(cases: Sequence[Case], baseline: str) -> list[list[Case]]:
    """The cases that are compared with each other: a model with its no-op twin and its baseline's,
    and all of a host where each has its own."""
    group_of = {c.case_id: (c.host, "" if c.host else original_of(c.model)) for c in cases}
    pairs = baselines(baseline, cases) if baseline else {}
    joined = {group_of[case_id]: group_of[other.case_id] for case_id, other in pairs.items()}
    groups: defaultdict[tuple[str, str], list[Case]] = defaultdict(list)
    for case in cases:
        group = group_of[case.case_id]
        groups[joined.get(group, group)].append(case)
    return list(groups.values())


@dataclass(kw_only=True)
class SharedSweep(GridScheduler):
    """`recorded` has the rounds that are there; `left_out` tells which hosts get nothing more, and
    why."""

    recorded: Run
    cluster: Cluster
    left_out: list[str] = field(default_factory=list)
    _running: list[ShareWork] = field(default_factory=list)
    _ready: deque[Work] = field(default_factory=deque)
    _told: dict[str, list[Diagnostic]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        super().__post_init__()
        self._hosts = list(self.cluster.hosts)
        names = [path.name for path in share_folders(self.recorded.path)]
        self._next_number = 1 + max((int(name) for name in names if name.isdigit()), default=0)
        for case in self._open.values():
            if refusal := refused_everywhere(case, self._hosts, self.cluster.send_code):
                self._settle(case, *refusal)
        open_cases = [case for case in self._open.values() if self.rounds_left(case)]
        self.exports.queue(open_cases)
        baseline = self.recorded.manifest.requested_plan.baseline
        self._waiting = comparison_groups(open_cases, baseline or "")

    def next(self, finished_work: Sequence[Work]) -> Work | None:
        for work in finished_work:
            self.exports.take(work)
            if isinstance(work, ShareWork):
                self._running.remove(work)
                self._take_share(work)
            elif isinstance(work, SettledRound):
                self.take(work.result)
        if not self._ready and (export := self.exports.next()) is not None:
            return export
        if not self._ready and not self.exports.in_flight:
            self._begin_shares()
        return self._ready.popleft() if self._ready else None

    @property
    def at_once(self) -> int:
        """How many rounds are measured at the same time, at most."""
        return max(1, len({host.machine for host in self._hosts}))

    def take(self, result: RoundResult) -> None:
        """What was cancelled has a round to come."""
        if result.status != "cancelled" and result.case_id in self._open:
            super().take(result)

    def _begin_shares(self) -> None:
        """Queue the next share of each machine that has none, before it what is void or has ended
        without one; where no host is left, the end of all that waits."""
        self._waiting = [list(filter(self._has_model, group)) for group in self._waiting]
        for host in self._hosts:
            is_free = host.machine not in {work.host.machine for work in self._running}
            if is_free and (cases := self._deal(host)):
                work = self._share(host, cases)
                self._running.append(work)
                self._ready.append(work)
        if not self._running:
            lost = f" ({'; '.join(self.left_out)})" if self.left_out else ""
            reason = f"no host that is left can measure it{lost}: {_RESUME}"
            for case in chain.from_iterable(self._waiting):
                self._settle(case, "cancelled", reason)
            self._waiting.clear()

    def _deal(self, host: Host) -> list[Case]:
        """Of the first group that has any the cases that the host can measure; what is left waits
        for others."""
        for place, group in enumerate(self._waiting):
            if fitting := [case for case in group if _fits(case, host)]:
                self._waiting[place] = [case for case in group if not _fits(case, host)]
                return fitting
        return []

    def _has_model(self, case: Case) -> bool:
        """Whether the case has what it runs; one that has not is settled or, where its export was
        left out, not begun."""
        replies = self.exports.replies_of(case)
        if replies is None:
            self._tally.end(case.case_id)
            return False
        for reply in filter(None, replies):
            if reply.model is None:
                self._settle(case, as_status(reply.status), reply.reason, reply.transient)
                return False
        return True

    def _goes_on(self, case: Case, host: Host) -> bool:
        """Whether the host has measured rounds of the case, and was not lost since. Those of
        another do not count beside the ones that are to come."""
        recorded = self._tally.recorded_of(case.case_id)
        before = "" if case.case_id in self._told else self.recorded.host_of(case)
        if not recorded or before == host.name:
            return bool(recorded)
        if before:
            self._told[case.case_id].append(diagnostic("host_changed", before, host=host.name))
        reason = f"{host.name} begins the case again"
        share = self._next_number - 1
        rounds = tuple(DiscardedRound(case.case_id, n, reason, share) for n in recorded)
        self._tally.void(case.case_id)
        count = counted(len(rounds), "round")
        self._ready.append(HostNews(f"{count} of {case.model} do not count: {reason}", rounds))
        return False

    def _share(self, host: Host, cases: Sequence[Case]) -> ShareWork:
        earlier, samples = self._earlier(cases, host)
        manifest, number = self.recorded.manifest, self._next_number
        self._next_number += 1
        plan = {name: value for name, value in manifest.plan.items() if name not in _OF_A_CLUSTER}
        if self.schedule.budget.is_bounded:
            plan["budget_s"] = max(1.0, self.schedule.budget.left_s)
        own = replace(
            manifest, plan=plan, cases=tuple(cases), files=(), fingerprints=(), started_in=""
        )
        warnings = list(clock_warning(host))
        for told in chain.from_iterable(self._told.get(case.case_id, ()) for case in cases):
            warnings += [] if told in warnings else [told]
        neighbours = [other for case in cases if (other := neighbour_case(case)) is not None]
        wanted = {(case.model, case.precision) for case in (*cases, *neighbours)}
        exported = tuple(item for item in self.exports.models.items() if item[0] in wanted)
        bundle, files = packed(
            Bundle(host.name, host.machine, number, exported, tuple(warnings)),
            self.cluster.send_code,
        )
        text = manifest_text(own).encode()
        contents = {MANIFEST: text, BUNDLE: bundle, **({EARLIER: earlier} if earlier else {})}
        carrier, run = self.cluster.carrier, self.recorded.path
        return ShareWork(host, number, own, contents, {**files, **samples}, carrier, run)

    def _earlier(self, cases: Sequence[Case], host: Host) -> tuple[bytes, dict[str, Path]]:
        """The journal lines of rounds that a host goes on from, and their samples by name."""
        lines: list[Line] = []
        samples: dict[str, Path] = {}
        run = self.recorded
        for case in cases:
            if not self._goes_on(case, host):
                continue
            writer = run.writer_of(case)
            lines += [] if writer is None or writer in lines else [writer]
            for result in run.rounds_of(case):
                lines.append(result)
                if result.samples:
                    samples[f"{SAMPLES}/{result.samples}"] = run.samples_path(result)
        return journal_text(map(line_values, lines)), samples

    def _take_share(self, work: ShareWork) -> None:
        """What a host has not finished goes to another that can measure it, as a new share."""
        host, lost = work.host, work.lost
        unfinished = [case for case in work.cases if self.rounds_left(case)]
        if not lost and (not unfinished or self.schedule.budget.is_bounded):
            for case in unfinished:
                self._tally.end(case.case_id)
            return
        if work.is_ours:
            for case in unfinished:
                self._settle(case, "cancelled", f"{lost}: resume the run, which exports it again")
            return
        lost = lost or f"its run ended early, {work.ending}"
        self._hosts.remove(host)
        self.left_out.append(f"{host.name} is left out: {lost}")
        told = diagnostic("host_lost", host.name, share=work.number, error=lost)
        for case in unfinished:
            self._told[case.case_id].append(told)
        self._waiting.insert(0, unfinished)

    def _settle(self, case: Case, status: Status, reason: str, transient: bool = False) -> None:
        result = self._settled(case, status, reason, transient).result
        # It stands against all shares before.
        result = replace(result, attempt=max(1, self._next_number - 1))
        self._ready.append(SettledRound(case, result))


def _fits(case: Case, host: Host) -> bool:
    return case.host in ("", host.name) and host.has(case.runtime)
