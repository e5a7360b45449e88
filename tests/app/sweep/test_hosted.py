"""Sweeps on several hosts, which are processes of this machine and are really ended.

What must hold: every row arrives, none twice, each with its host, and whoever reads it is told what
became of the hosts.
"""

from __future__ import annotations

import json
import shutil
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.cases.column import Row
from app.cases.round import RECORD
from app.columns.rows import Rows
from app.comparison.aggregate_throughput import throughput_over_hosts
from app.machine.environment import describe_host
from app.plan.command_line import parse
from app.plan.options import plan_from_options
from app.remote.pipe_transport import PipedCarrier
from app.run_folder.diagnostics import diagnostics_of
from app.run_folder.folder import RunFolder
from app.run_folder.journal import DiscardedRound
from app.runs.following.reader import RunReader
from app.runs.reader import read_run
from app.sweep.cluster import Cluster
from app.sweep.engine import Completed, Event, ProgressReported
from app.sweep.run import SweepRun
from app.sweep.run_creation import create_run
from app.sweep.work.remote_rounds import HostedRound
from exporters import install_layout as own_program
from exporters.diagnostics.catalogue import codes, diagnostic
from exporters.diagnostics.diagnostic import Diagnostic
from tests.app.remote.hosts import (
    agent_of,
    carrier_of,
    child_of,
    command_of,
    cut_off,
    is_gone,
    scripted,
    wait_until,
)
from tests.app.sweep.sweeps import DEADLINE_S, write_add_graph

OPTIONS = "fake.latency_us=50,60,70,80"


@pytest.fixture(autouse=True)
def _one_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(cache))


def cluster_on(carrier: PipedCarrier, **warnings: tuple[Diagnostic, ...]) -> Cluster:
    hosts = carrier.doctor()
    by_host = {host.name: warnings.get(host.name, ()) for host in hosts}
    return Cluster(carrier, hosts, warnings=by_host)


@contextmanager
def a_run(tmp_path: Path, *flags: str, cluster: Cluster | None = None) -> Iterator[RunFolder]:
    """A new run of one small graph on the scripted runtime."""
    graph = tmp_path / "add.onnx"
    if not graph.exists():
        write_add_graph(graph)
    words = ["--headless", "--models", str(graph), "--runtimes", "fake", "--preset", "glance"]
    plan = plan_from_options(parse([*words, "--cluster", "local:1", *flags]))
    with closing(create_run(plan, tmp_path / "run", cluster)) as folder:
        yield folder


def measured(
    folder: RunFolder, cluster: Cluster, react: Callable[[Event], object] = lambda _: None
) -> tuple[list[Row], list[str]]:
    """The rows at the end, and what was told of the hosts."""
    deadline = time.monotonic() + DEADLINE_S
    with SweepRun(folder, describe_host(), cluster=cluster) as run:
        while not run.finished:
            assert time.monotonic() < deadline
            for event in run.step(0.05):
                react(event)
        run.close(0)
        return run.rows(), list(run.hosts_left_out)


def journals(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Host -> the lines of rounds in its journal, whether they still stand or not."""
    lines_by_host: dict[str, list[dict[str, Any]]] = {}
    for journal in (path / "journal").iterdir():
        writer, *lines = map(json.loads, journal.read_text().splitlines())
        rounds = [line for line in lines if line["kind"] == "round"]
        lines_by_host.setdefault(writer["host"], []).extend(rounds)
    return lines_by_host


@pytest.mark.alone
def test_four_hosts_one_killed_and_one_cut_off_every_row_arrives_and_none_twice(
    tmp_path: Path,
) -> None:
    broken_hosts: dict[str, str] = {}
    children: list[psutil.Process] = []

    def breaks(event: Event) -> None:
        """Two hosts in the middle of a measurement: one dies, one falls silent."""
        if not (isinstance(event, ProgressReported) and isinstance(event.work, HostedRound)):
            return
        work = event.work
        if work.phase == "measure" and len(broken_hosts) < 2 and work.host not in broken_hosts:
            agent = agent_of(carrier, work.host)
            children.append(child_of(agent))
            if not broken_hosts:
                agent.kill()
            else:
                cut_off(agent)
            broken_hosts[work.host] = work.case.case_id

    with carrier_of("a", "b", "c", "d", silence_s=5.0) as carrier:
        cluster = cluster_on(carrier)
        with a_run(tmp_path, "--option", OPTIONS, "--rounds", "2") as folder:
            rows, left_out = measured(folder, cluster, breaks)
    assert len(broken_hosts) == 2
    assert [row["status"] for row in rows] == ["ok"] * 4
    assert [row["rounds"] for row in rows] == [2] * 4
    assert left_out == [], "each was lost once, and is given another chance"
    run = read_run(tmp_path / "run")
    assert Counter(len(rounds) for rounds in run.rounds.values()) == {2: 4}
    for host, case_id in broken_hosts.items():
        (row,) = (row for row in rows if row["case_id"] == case_id)
        assert row["host"] != host
        assert row["attempts"] == 2
        (loss,) = (entry for entry in diagnostics_of(row) if entry.code == "host_lost")
        assert (loss.subject, loss.parameters["host"]) == (host, row["host"])
        assert loss.parameters["round"] == 1
    assert {str(row["host"]) for row in rows} <= {"a", "b", "c", "d"}
    written_rounds = [
        (line["case_id"], line["round"]) for lines in journals(run.path).values() for line in lines
    ]
    assert len(written_rounds) == len(set(written_rounds)) == 8, "none came twice"
    wait_until(lambda: all(map(is_gone, children)))


def test_samples_are_what_the_host_wrote_and_can_be_followed_while_they_grow(
    tmp_path: Path,
) -> None:
    sizes: list[int] = []

    def looks(event: Event) -> None:
        state = reader.poll()
        if state is not None and state.alive and state.series[0].rounds:
            sizes.append(sum(map(len, state.series[0].rounds)))

    with carrier_of("a") as carrier:
        cluster = cluster_on(
            carrier, a=(diagnostic("host_clock_off", "a", offset_s=3600.0, direction="ahead"),)
        )
        with a_run(tmp_path, "--rounds", "1", "--preset", "quick") as folder:
            reader = RunReader(folder.path)
            with closing(reader):
                rows, _ = measured(folder, cluster, looks)
    (row,) = rows
    run = read_run(tmp_path / "run")
    ((result,),) = (tuple(rounds.values()) for rounds in run.rounds.values())
    data = (run.path / "samples" / result.samples).read_bytes()
    assert zlib.crc32(data) == result.samples_crc32, "byte by byte"
    assert len(data) // RECORD.itemsize >= result.warmup_iterations + result.iterations
    assert len(set(sizes)) > 2, "it was seen to grow"
    assert row["host"] == "a"
    assert "host_clock_off" in codes(diagnostics_of(row))


def once(marker: Path, message: str, name: str) -> Sequence[str]:
    """What starts the agent of a host the first time, and never again."""
    return scripted(
        marker.with_suffix(".py"),
        "begun, said = sys.argv[1:3]\n"
        "if os.path.exists(begun): sys.exit(said)\n"
        "open(begun, 'w').close()\n"
        "os.execv(sys.argv[3], sys.argv[3:])\n",
        str(marker),
        message,
        *command_of(name),
    )


@pytest.mark.rare
def test_every_host_measures_every_case_and_one_that_goes_leaves_its_rows_with_the_reason(
    tmp_path: Path,
) -> None:
    fails = once(tmp_path / "begun", "the board is off", "b")
    carrier = PipedCarrier({"a": command_of("a"), "b": fails})

    def kills(event: Event) -> None:
        """As soon as anything is heard of its round: its phases may be told all at once."""
        work = event.work if isinstance(event, ProgressReported) else None
        if isinstance(work, HostedRound) and work.host == "b":
            with suppress(psutil.NoSuchProcess):
                agent_of(carrier, "b").kill()

    with closing(carrier):
        cluster = cluster_on(carrier)
        flags = ("--per-host", "--rounds", "1")
        with a_run(tmp_path, *flags, cluster=cluster) as folder:
            rows, left_out = measured(folder, cluster, kills)
    assert Counter((row["host"], row["status"]) for row in rows) == {
        ("a", "ok"): 1,
        ("b", "cancelled"): 1,
    }
    for row in rows:
        if row["host"] == "b":
            assert "b was lost" in str(row["reason"])
            assert "the board is off" in str(row["reason"])
    (reason,) = left_out
    assert reason.startswith("b is left out: it was lost 2 times, last ")


def test_hosts_work_at_the_same_time_and_what_they_serve_is_added(tmp_path: Path) -> None:
    """Real agents, each a machine by the name that it was given: a round of one lies within that of
    the other."""
    with carrier_of("a", "b") as carrier:
        cluster = cluster_on(carrier)
        flags = ("--per-host", "--rounds", "3", "--option", "fake.latency_us=2000")
        with a_run(tmp_path, *flags, "--option", "fake.wait=sleep", cluster=cluster) as folder:
            rows, _ = measured(folder, cluster)
    assert [(row["host"], row["status"]) for row in rows] == [("a", "ok"), ("b", "ok")]
    run = read_run(tmp_path / "run")
    (both,) = throughput_over_hosts(run, Rows().measured(run))
    assert both.absent == ""
    assert sorted(both.hosts) == ["a", "b"]
    assert both.per_s == pytest.approx(sum(float(str(row["throughput_per_s"])) for row in rows))
    # Each run sleeps for 2 ms at least, of one input or of as many as the graph's batch.
    inputs = int(str(rows[0]["batch_size"] or 1))
    assert both.per_s <= 2 * inputs / 2000e-6
    assert both.interval is not None
    assert both.interval.low <= both.per_s <= both.interval.high
    spans = {
        run.host_of(case): [
            (samples.started_ns.min(), samples.finished_ns.max())
            for samples in map(run.samples_of, run.rounds_of(case))
        ]
        for case in run.cases
    }
    assert any(
        start_ns < ended_there and begun_there < end_ns
        for start_ns, end_ns in spans["a"]
        for begun_there, ended_there in spans["b"]
    ), "one clock for all processes of a machine tells that they overlapped"


@pytest.mark.rare
def test_two_hosts_of_one_machine_take_turns_and_are_not_added(tmp_path: Path) -> None:
    command = own_program.starter_command("app.remote.worker", "--stdio")
    carrier = PipedCarrier({"a": command, "b": command})
    with closing(carrier):
        cluster = cluster_on(carrier)
        with a_run(tmp_path, "--per-host", "--rounds", "1", cluster=cluster) as folder:
            measured(folder, cluster)
    run = read_run(tmp_path / "run")
    (both,) = throughput_over_hosts(run, Rows().measured(run))
    assert both.absent.endswith("are one machine, and took turns on it")


@pytest.mark.rare
def test_where_no_host_is_left_what_is_there_stays_and_another_cluster_goes_on(
    tmp_path: Path,
) -> None:
    round_count = 0

    def kills(event: Event) -> None:
        nonlocal round_count
        round_count += isinstance(event, Completed) and isinstance(event.work, HostedRound)
        if (
            round_count == 1
            and isinstance(event, ProgressReported)
            and isinstance(event.work, HostedRound)
        ):
            agent_of(carrier, "a").kill()

    with carrier_of("a") as carrier:
        cluster = cluster_on(carrier)
        with a_run(tmp_path, "--rounds", "2") as folder:
            rows, left_out = measured(folder, cluster, kills)
    assert rows[0]["rounds"] == 1
    assert diagnostic("rounds_missing", measured=1, planned=2) in diagnostics_of(rows[0])
    assert left_out[-1].startswith("no host is left: resume the run")
    with carrier_of("other") as carrier, closing(RunFolder.reopen(tmp_path / "run")) as folder:
        rows, _ = measured(folder, cluster_on(carrier))
    assert (rows[0]["status"], rows[0]["rounds"], rows[0]["host"]) == ("ok", 2, "other")
    assert diagnostic("host_changed", "a", host="other") in diagnostics_of(rows[0])
    run = read_run(tmp_path / "run")
    (rounds,) = run.rounds.values()
    assert {result.attempt for result in rounds.values()} == {rows[0]["attempts"]}


def test_a_full_disk_of_a_host_is_one_sentence_and_the_case_goes_on_elsewhere(
    tmp_path: Path,
) -> None:
    limited_host = scripted(
        tmp_path / "limited.py",
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))\n"
        "os.environ.pop('COVERAGE_PROCESS_CONFIG', None)\n"
        # Python keeps a .pyc file that was cut off at the limit: every later import of it fails.
        "os.environ['PYTHONDONTWRITEBYTECODE'] = '1'\n"
        "os.execv(sys.argv[1], sys.argv[1:])\n",
        *command_of("full"),
    )
    carrier = PipedCarrier({"full": limited_host, "roomy": command_of("roomy")})
    with closing(carrier):
        cluster = cluster_on(carrier)
        with a_run(tmp_path, "--rounds", "1", "--option", "fake.latency_us=5") as folder:
            rows, left_out = measured(folder, cluster)
    assert [(row["status"], row["host"]) for row in rows] == [("ok", "roomy")]
    (loss,) = (entry for entry in diagnostics_of(rows[0]) if entry.code == "host_lost")
    assert loss.subject == "full"
    assert left_out == [], "once may happen to anybody"


def test_a_cache_that_goes_in_the_middle_is_one_sentence_and_a_resume_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a host is to be brought lies in it; no host is to blame."""
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))

    def clears(event: Event) -> None:
        if isinstance(event, Completed) and isinstance(event.work, HostedRound):
            shutil.rmtree(tmp_path / "cache" / "objects", ignore_errors=True)

    with carrier_of("a") as carrier:
        cluster = cluster_on(carrier)
        with a_run(tmp_path, "--rounds", "2") as folder:
            rows, left_out = measured(folder, cluster, clears)
        assert left_out == []
        assert rows[0]["rounds"] == 1
        assert "can't be read any more (No such file" in str(rows[0]["reason"])
        with closing(RunFolder.reopen(tmp_path / "run")) as folder:
            rows, _ = measured(folder, cluster)
    assert [(row["status"], row["rounds"], row["attempts"]) for row in rows] == [("ok", 2, 1)]


@pytest.mark.rare
def test_a_resume_that_was_killed_as_it_moved_a_case_costs_the_next_one_nothing(
    tmp_path: Path,
) -> None:
    """It had written that the rounds of another host are void, and measured none itself yet."""
    with carrier_of("a") as carrier, a_run(tmp_path, "--rounds", "1") as folder:
        ((row,), _) = measured(folder, cluster_on(carrier))
        folder.record(DiscardedRound(str(row["case_id"]), 0, "a is not at hand", 1))
    with carrier_of("b") as carrier, closing(RunFolder.reopen(tmp_path / "run")) as folder:
        ((row,), _) = measured(folder, cluster_on(carrier))
    assert (row["status"], row["rounds"], row["host"]) == ("ok", 1, "b")
    assert row["attempts"] == 2


def test_a_network_that_fails_blames_no_case(tmp_path: Path) -> None:
    """Every host is lost at once, and none can be reached again: nothing is said of the model."""
    carrier = PipedCarrier(
        {name: once(tmp_path / name, "no route to host", name) for name in ("a", "b", "c")}
    )
    with closing(carrier):
        cluster = cluster_on(carrier)
        for host in cluster.hosts:
            agent_of(carrier, host.name).kill()
        with a_run(tmp_path, "--rounds", "1") as folder:
            rows, _ = measured(folder, cluster)
    assert [row["status"] for row in rows] == ["cancelled"]
    reason = str(rows[0]["reason"])
    assert reason.count("no route to host") == 3
    assert reason.endswith(": resume the run")
    with carrier_of("d") as another, closing(RunFolder.reopen(tmp_path / "run")) as folder:
        rows, _ = measured(folder, cluster_on(another))
    assert [(row["status"], row["host"]) for row in rows] == [("ok", "d")]
