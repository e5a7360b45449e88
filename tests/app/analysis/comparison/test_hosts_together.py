"""What several machines serve together: worked out by hand, and what is never added."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.analysis.columns.rows import Rows
from app.analysis.comparison.aggregate_throughput import (
    AggregateThroughput,
    hosts_csv,
    throughput_over_hosts,
)
from app.cases.case import Case
from app.cases.status import Status
from app.present.console.scaling import throughput_tables
from app.present.terminal import as_text
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from app.stats.quantiles import Interval
from app.stats.summary import interval_of_sum
from tests.app.run_folder.runs import ENVIRONMENT, manifest_of, record, share_of

ANYWHERE = Case("mlp", "ort-cpu", axes={"batch": 4})
OF = {"server": {"machine": "kernel-1"}, "board": {"machine": "kernel-2"}}


def found(
    path: Path,
    rounds: Mapping[str, Sequence[float]],
    machines: Mapping[str, Mapping[str, Any]] = OF,
    row_values: Mapping[str, Mapping[str, Any]] | None = None,
) -> tuple[AggregateThroughput, ...]:
    """Of a run whose hosts measured rounds of so many microseconds a run."""
    cases = {host: replace(ANYWHERE, host=host) for host in rounds}
    path.mkdir(exist_ok=True)
    with RunFolder.create(path / "run", manifest_of(list(cases.values()), 3)) as folder:
        folder.begin(ENVIRONMENT)
        for place, (host, latencies_us) in enumerate(rounds.items()):
            with share_of(folder, {"host": host, **machines.get(host, {})}, place) as share:
                for number, latency_us in enumerate(latencies_us):
                    facts: dict[str, Any] = dict((row_values or {}).get(host, {}))
                    status: Status = facts.pop("status", "ok")
                    record(share, cases[host], number, [latency_us] * 30, status, **facts)
    run = read_run(path / "run")
    return throughput_over_hosts(run, Rows().measured(run))


def test_the_sum_its_shares_and_the_time_of_a_fixed_work(tmp_path: Path) -> None:
    """A run of 100 us, as one of one input or four: the batch is what the model says it is."""
    (both,) = found(tmp_path, {"board": [300.0] * 3, "server": [100.0] * 3})
    (few,) = found(tmp_path / "few", {"board": [300.0] * 2, "server": [100.0] * 3})
    assert few.interval is None
    alone = both.rates[0]
    assert both.hosts == ("server", "board"), "the fastest first"
    assert both.rates == pytest.approx((alone, alone / 3))
    assert both.per_s == pytest.approx(alone * 4 / 3)
    assert both.shares == pytest.approx((0.75, 0.25))
    assert both.speedup == pytest.approx(4 / 3)
    assert both.efficiency == pytest.approx(2 / 3)
    inputs = 12_000
    assert both.seconds_for(inputs) == pytest.approx(inputs * 0.75 / alone)
    assert both.seconds_for(inputs) == pytest.approx(inputs * 0.25 / (alone / 3))
    assert both.interval is not None and both.interval.low == pytest.approx(both.interval.high)


def test_independent_intervals_add_by_squares_each_side_by_itself() -> None:
    """3-4-5 below and 5-12-13 above; one that is known exactly moves the other's."""
    both = interval_of_sum((100.0, 50.0), (Interval(97.0, 105.0), Interval(46.0, 62.0)))
    assert (both.low, both.high) == pytest.approx((145.0, 163.0))
    total = interval_of_sum((100.0, 50.0), (Interval(100.0, 100.0), Interval(46.0, 62.0)))
    assert (total.low, total.high) == pytest.approx((146.0, 162.0))


PI = {"host": "pi", "cpu": "A76"}
UNSURE = "they may be one machine"


@pytest.mark.parametrize(
    ("machines", "rows", "why"),
    [
        (
            {name: {"machine": "kernel-1"} for name in OF},
            {},
            "server and board are one machine, and took turns on it",
        ),
        (dict.fromkeys(OF, PI), {}, UNSURE),
        ({"server": {"cpu": "A76"}, "board": {"cpu": "A53"}}, {}, ""),
        ({name: PI | facts for name, facts in OF.items()}, {}, ""),
        (
            OF,
            {"board": {"clock": "device"}},
            "the clock of server is wall, the clock of board is device",
        ),
        (OF, {name: {"clock": "simulated"} for name in OF}, "a simulated clock is no machine's"),
    ],
    ids=["one machine", "perhaps one", "processors", "kernels", "two clocks", "simulated"],
)
def test_only_what_two_machines_measure_by_one_clock_is_added(
    tmp_path: Path,
    machines: Mapping[str, Mapping[str, Any]],
    rows: Mapping[str, Mapping[str, Any]],
    why: str,
) -> None:
    (both,) = found(tmp_path, EVEN, machines, rows)
    assert both.absent.endswith(why) if why else not both.absent
    assert hosts_csv([both]).decode().splitlines()[-1].endswith(both.absent) or "," in both.absent


EVEN = {"server": [100.0] * 3, "board": [100.0] * 3}


def test_a_host_that_is_not_well_is_named_and_not_added(tmp_path: Path) -> None:
    machines = {**OF, "third": {"machine": "kernel-3"}}
    failure = {"third": {"status": "wrong_output", "reason": "off"}}
    (two,) = found(tmp_path / "a", {**EVEN, "third": [9.0] * 3}, machines, failure)
    assert two.hosts == ("server", "board") or two.hosts == ("board", "server")
    assert two.exclusions == ("third is wrong output",)
    *_, total = csv.DictReader(io.StringIO(hosts_csv([two]).decode()))
    assert total["absent"] == "third is wrong output"
    assert "third is wrong output: not added" in as_text(throughput_tables([two]), 200)
    board_failure = {"board": {"status": "wrong_output", "reason": "off"}}
    assert found(tmp_path / "b", EVEN, row_values=board_failure) == (), (
        "one alone is no sum, and its row says why"
    )


def test_the_file_has_a_line_for_each_host_and_one_for_all(tmp_path: Path) -> None:
    both = found(tmp_path, {"board": [300.0] * 3, "server": [100.0] * 3})
    server, board, all_of_them = csv.DictReader(io.StringIO(hosts_csv(both).decode()))
    assert (server["host"], board["host"], all_of_them["host"]) == ("server", "board", "")
    assert float(server["share"]) == pytest.approx(0.75)
    assert all_of_them["machines"] == "2" and float(all_of_them["share"]) == 1.0
    assert float(board["million_inputs_s"]) == pytest.approx(1e6 / float(board["throughput_per_s"]))
    total = float(server["throughput_per_s"]) + float(board["throughput_per_s"])
    assert float(all_of_them["throughput_per_s"]) == pytest.approx(total)
    assert float(all_of_them["million_inputs_s"]) == pytest.approx(1e6 / total)
    assert float(all_of_them["efficiency"]) == pytest.approx(2 / 3)
