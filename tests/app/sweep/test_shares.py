"""Runs on several hosts, which are processes of this machine and are really ended.

What must hold: every row arrives, none twice, each with its host, and whoever reads it is told what
became of the hosts.
"""

from __future__ import annotations

import json
import signal
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from zlib import crc32

import psutil
import pytest

from app.analysis.columns.rows import Rows
from app.analysis.comparison.aggregate_throughput import throughput_over_hosts
from app.cases.column import Row
from app.machine.environment import describe_host, graphlap_version
from app.plan.command_line import parse
from app.plan.options import plan_from_options
from app.run_folder.diagnostics import diagnostics_of
from app.run_folder.files import text_digest
from app.run_folder.folder import RunFolder
from app.run_folder.journal import Operators, Writer, line_text, line_values
from app.run_folder.manifest import MANIFEST
from app.runs.reader import read_run
from app.runs.verify import verify
from app.sweep.engine import Completed, Event
from app.sweep.remote import link
from app.sweep.remote.carriers import PipeCarrier, ask_hosts
from app.sweep.remote.host import host_here
from app.sweep.run import SweepRun
from app.sweep.run_creation import create_run
from app.sweep.scheduling.shares import Cluster
from app.sweep.work.round import SettledRound
from app.sweep.work.share import ShareWork, folder_name
from exporters.diagnostics import codes
from tests.app.cli.headless.batch import SLEEPING
from tests.app.sweep.remote.processes import between, command_of, is_gone, wait_until
from tests.app.sweep.sweeps import finish, write_add_graph

GRAPHS = ("one", "two", "three", "four", "five", "six")
React = Callable[[Event, SweepRun], object]
Message = dict[str, Any]

pytestmark = pytest.mark.usefixtures("brief")


@pytest.fixture(autouse=True)
def _one_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(cache))


def hosts(*names: str, **commands: Sequence[str]) -> Cluster:
    """Each a machine of its own."""
    carrier = PipeCarrier({**{name: command_of(name) for name in names}, **commands})
    return Cluster(carrier, tuple(host_here(name, name, ()) for name in carrier.names))


@contextmanager
def a_run(
    tmp_path: Path, *flags: str, cluster: Cluster | None = None, graphs: int = 4
) -> Iterator[RunFolder]:
    """A new run of small graphs on the scripted runtime."""
    paths = [tmp_path / f"{name}.onnx" for name in GRAPHS[:graphs]]
    for path in paths:
        write_add_graph(path)
    words = ["--headless", "--models", ",".join(map(str, paths)), "--runtimes", "fake"]
    words += ["--preset", "glance", "--cluster", "local:1", *SLEEPING, *flags]
    with closing(create_run(plan_from_options(parse(words)), tmp_path / "run", cluster)) as folder:
        yield folder


def measure(
    folder: RunFolder, cluster: Cluster, react: React = lambda *_: None
) -> tuple[list[Row], list[str]]:
    """The rows at the end, and what was told of the hosts."""
    with SweepRun(folder, describe_host(), cluster=cluster) as run:
        finish(run, react)
        return run.rows(), list(run.hosts_left_out)


def measuring_host(event: Event) -> str:
    """Of a round that has just been measured by one; "" for any other event."""
    if isinstance(event, Completed) and isinstance(event.work, SettledRound):
        return event.work.host
    return ""


def processes_of(run: SweepRun) -> Mapping[str, psutil.Process]:
    """The process of each host that has a share now."""
    works = [work for work in run._engine.in_flight if work.kind == "share"]
    return {
        work.host.name: psutil.Process(work._link._process.pid)  # type: ignore[attr-defined]
        for work in works
    }


def test_a_run_is_shared_out_and_read_as_one(tmp_path: Path) -> None:
    carrier = hosts("a", "b").carrier
    with a_run(tmp_path, "--rounds", "1", "--overhead", graphs=3) as folder:
        rows, left_out = measure(folder, Cluster(carrier, ask_hosts(carrier)))
    assert Counter(row["status"] for row in rows) == {"ok": 6}
    assert left_out == []
    measured = {(str(row["model"]).strip("nul()"), row["host"]) for row in rows}
    assert len(measured) == 3, "a model goes with its twin"
    assert {str(row["host"]) for row in rows} == {"a", "b"}
    assert not [finding for finding in verify(tmp_path / "run").findings if not finding.harmless]
    shares = sorted(path.name for path in (tmp_path / "run/hosts").glob("*/*"))
    assert shares == ["1", "2", "3"]


def test_every_host_measures_everything_and_what_they_serve_is_added(tmp_path: Path) -> None:
    """The cases of one that is killed say so."""

    def kills(_: Event, run: SweepRun) -> None:
        if (process := processes_of(run).get("c")) is not None:
            process.kill()

    cluster = hosts("a", "b", "c")
    with a_run(tmp_path, "--per-host", "--rounds", "3", cluster=cluster, graphs=1) as folder:
        rows, _ = measure(folder, cluster, kills)
    statuses = {row["host"]: row["status"] for row in rows}
    assert statuses == {"a": "ok", "b": "ok", "c": "cancelled"}
    assert ["c is left out" in str(row["reason"]) for row in rows] == [False, False, True]
    run = read_run(tmp_path / "run")
    (both,) = throughput_over_hosts(run, Rows().measured(run))
    assert sorted(both.hosts) == ["a", "b"]
    rounds = [[run.samples_of(each) for each in run.rounds_of(case)] for case in run.cases[:2]]
    begun = [samples[0].started_ns.min() for samples in rounds]
    ended = [samples[-1].finished_ns.max() for samples in rounds]
    assert max(begun) < min(ended), "they measured at the same time, by the machine's one clock"


@pytest.mark.long
def test_what_lost_hosts_have_not_finished_goes_to_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is killed; one is stopped and comes back later: nothing of it counts any more."""
    monkeypatch.setattr(link, "SILENCE_S", 12.0)
    signals = [signal.SIGKILL, signal.SIGSTOP]
    broken: dict[str, psutil.Process] = {}
    children: list[psutil.Process] = []

    def breaks(event: Event, run: SweepRun) -> None:
        if (host := measuring_host(event)) and signals and host not in broken:
            broken[host] = processes_of(run)[host]
            children.extend(broken[host].children(recursive=True))
            broken[host].send_signal(signals.pop())

    cluster = hosts("a", "b", "c")
    with a_run(tmp_path, "--rounds", "2", graphs=2) as folder:
        rows, left_out = measure(folder, cluster, breaks)
    with suppress(psutil.NoSuchProcess):
        for process in broken.values():
            process.send_signal(signal.SIGCONT)
    assert [(row["status"], row["rounds"]) for row in rows] == [("ok", 2)] * 2
    assert {sentence.partition(" ")[0] for sentence in left_out} == broken.keys()
    assert len(broken) == 2
    moved = [row for row in rows if "host_lost" in codes(diagnostics_of(row))]
    assert moved
    assert {row["host"] for row in moved}.isdisjoint(broken)
    run = read_run(tmp_path / "run")
    for rounds in run.rounds.values():
        assert len({result.attempt for result in rounds.values()}) == 1, "of one share each"
    assert not [finding for finding in verify(run.path).findings if not finding.harmless]
    wait_until(lambda: all(map(is_gone, children)))


FLOOD = """
    for _ in range(1 << 20 if data else 0):
        yield values, bytes(1 << 20)
    yield values, data
"""


def _counts_more(message: Message) -> Message:
    """A line whose samples contradict it."""
    line = json.loads(message["line"])
    del line["crc32"]
    return {"line": line_text({**line, "iterations": line["iterations"] + 1}).decode()}


def _operators(line: Message, checksum_off: int = 0) -> list[Message]:
    """The times of operators of the same case, and the line that tells of their file."""
    case_id, content = json.loads(line["line"])["case_id"], b"node,op\n"
    name = f"operators/{case_id}.csv"
    number = json.loads(line["line"])["attempt"]
    checksum = crc32(content) + checksum_off
    told = Operators(case_id, attempt=number, file=name, file_crc32=checksum)
    return [
        *({"file": name, "data": b64encode(data).decode()} for data in (content, b"")),
        {"line": line_text(line_values(told)).decode()},
    ]


LIES: Mapping[str, Callable[[Message, Message], Sequence[Message]]] = {
    "damaged samples": lambda file, line: [file | {"data": "A" * len(file["data"])}, line],
    "counts that the samples contradict": lambda file, line: [file, _counts_more(line)],
    "a file outside": lambda file, line: [file | {"file": "../../../escaped"}, line],
    "operators that their file contradicts": lambda file, line: [*_operators(line, 1)],
    "a line that is no text": lambda file, line: [file, {"line": "\ud800"}],
    "no message of ours": lambda file, line: [{"strange": 1}],
}
"""What a host makes of the samples of a round and the line that tells of it."""


def test_a_host_that_sends_what_can_not_be_is_let_go_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One in the midst of a flood; other lies are told of what an honest one has sent."""
    monkeypatch.setattr("app.sweep.work.share.MOST_BYTES", 8 << 20)
    bad = between(tmp_path / "bad.py", "bad", FLOOD)
    with a_run(tmp_path, "--rounds", "1", graphs=1) as folder:
        rows, left_out = measure(folder, hosts(bad=bad, good=command_of("good")))
        (row,) = rows
        assert (row["status"], row["host"]) == ("ok", "good")
        assert [sentence.partition(" is left out: ")[0] for sentence in left_out] == ["bad"]
        assert not [found for found in verify(tmp_path / "run").findings if not found.harmless]
        (samples,) = (tmp_path / "run/hosts/good").glob("*/samples/*")
        number, share = int(samples.parts[-3]), samples.parents[1]
        texts = (share / "journal/host.jsonl").read_text().splitlines()
        (line,) = (text for text in texts if json.loads(text)["kind"] == "round")
        data = b64encode(samples.read_bytes()).decode()
        sent = {"file": f"samples/{samples.name}", "data": data}, {"line": line}
        honest = given(folder, tmp_path / "honest", number, [*sent, *_operators(sent[1])])
        assert honest.lost == "" and len(honest.arrived) == 3
        for name, lie in LIES.items():
            work = given(folder, tmp_path / name, number, lie(*sent))
            assert work.lost and not work.is_ours and not work.arrived[1:], name
    assert not [*tmp_path.rglob("escaped")]


def given(folder: RunFolder, path: Path, number: int, messages: Sequence[Message]) -> ShareWork:
    """A share of the run, laid out in `path`, whose host sends these after its first line."""
    first = Writer("w", 1, "a", graphlap_version(), {}, folder.manifest.run_id, text_digest(b""))
    sent = [{"line": line_text(line_values(first)).decode()}, *messages]
    carrier = Mock(open=lambda *_: Mock(lost="", take=lambda: sent))
    host = host_here("a", "m", ())
    path.mkdir(exist_ok=True)
    work = ShareWork(host, number, folder.manifest, {MANIFEST: b""}, {}, carrier, path)
    work.start(Mock())
    work.advance()
    return work


@pytest.mark.parametrize("name", ["../../up", "..", "a/b", "x" * 300, "ü", "a\nb"])
def test_a_host_of_any_name_has_a_folder_in_the_run(name: str) -> None:
    """A worker calls itself what it likes; a file system takes 255 bytes."""
    found = folder_name(name)
    assert Path(found).name == found not in (".", "..")
    assert len(found.encode()) < 256
    assert found != folder_name(name + "_")
    assert folder_name("board-1.lab") == "board-1.lab"


def test_where_no_host_is_left_what_is_there_stays_and_others_go_on(tmp_path: Path) -> None:
    def kills(event: Event, run: SweepRun) -> None:
        if measuring_host(event):
            for process in processes_of(run).values():
                process.kill()

    with a_run(tmp_path, "--rounds", "2", graphs=1) as folder:
        rows, left_out = measure(folder, hosts("a"), kills)
    assert [row["rounds"] for row in rows] == [1]
    assert len(left_out) == 1
    with closing(RunFolder.reopen(tmp_path / "run")) as folder:
        rows, _ = measure(folder, hosts("other"))
    assert (rows[0]["status"], rows[0]["rounds"], rows[0]["host"]) == ("ok", 2, "other")
    assert "host_changed" in codes(diagnostics_of(rows[0]))
    (rounds,) = read_run(tmp_path / "run").rounds.values()
    assert {result.attempt for result in rounds.values()} == {2}


def test_a_run_that_is_stopped_ends_on_its_hosts_and_is_resumed(tmp_path: Path) -> None:
    children: list[psutil.Process] = []

    def stops(event: Event, run: SweepRun) -> None:
        if measuring_host(event):
            for process in processes_of(run).values():
                children.extend(process.children(recursive=True))
            run.stop()

    with a_run(tmp_path, "--rounds", "2", graphs=2) as folder:
        rows, left_out = measure(folder, hosts("a"), stops)
    assert left_out == []
    assert sum(int(str(row["rounds"] or 0)) for row in rows) < 4
    wait_until(lambda: all(map(is_gone, children)))
    with closing(RunFolder.reopen(tmp_path / "run")) as folder:
        rows, _ = measure(folder, hosts("a"))
    assert [(row["status"], row["rounds"]) for row in rows] == [("ok", 2)] * 2
    written = [
        (line["case_id"], line["round"])
        for journal in (tmp_path / "run/hosts").glob("*/*/journal/*.jsonl")
        for line in map(json.loads, journal.read_text().splitlines())
        if line["kind"] == "round"
    ]
    assert len(written) == len(set(written)) == 4, "none was measured twice"
    assert not [finding for finding in verify(tmp_path / "run").findings if not finding.harmless]


def test_a_hosts_run_ends_with_the_process_that_asked_for_it(tmp_path: Path) -> None:
    """The link is a pipe here, as it is by ssh without a terminal."""
    children: list[psutil.Process] = []

    def leaves(event: Event, run: SweepRun) -> None:
        if measuring_host(event) and not children:
            (process,) = processes_of(run).values()
            children.extend(process.children(recursive=True))
            (work,) = (w for w in run._engine.in_flight if w.kind == "share")
            work._link._process._target.close()  # type: ignore[attr-defined]

    with a_run(tmp_path, "--rounds", "20", graphs=1) as folder:
        measure(folder, hosts("a"), leaves)
    assert children
    wait_until(lambda: all(map(is_gone, children)))
