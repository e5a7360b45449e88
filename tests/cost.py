"""Processor time of tests, for `python -m tests --cost`: wall time under load misleads.

Each process of pytest notes for each test the processor time of its own threads and of all its
descendants, those that still run and those that ended. The notes travel in the JUnit report, so
that they are summed by folder, by file and by test function.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest

PROPERTY = "cpu_s"
TOP = 25
"""Lines of each table."""
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_UTIME = 11
"""Of the fields after a process's name in /proc/PID/stat: utime, stime, cutime, cstime."""

_START = pytest.StashKey[float]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.stash[_START] = tree_cpu_s(os.getpid())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    # A report copies the properties, and the JUnit file has those of the last one.
    if call.when == "teardown" and _START in item.stash:
        used_s = tree_cpu_s(os.getpid()) - item.stash[_START]
        item.user_properties.append((PROPERTY, f"{used_s:.2f}"))
    return (yield)


def tree_cpu_s(pid: int) -> float:
    """Processor time of a process and its descendants, including those that were waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    own_s = sum(map(int, fields[_UTIME : _UTIME + 4])) / _TICKS_PER_S
    return own_s + sum(map(tree_cpu_s, _children(pid)))


def _children(pid: int) -> Iterator[int]:
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            yield from map(int, thread.read_text("ascii").split())
        except OSError:
            continue


def costs(report: Path) -> dict[tuple[str, str], float]:
    """Processor seconds by module and test function, parameters together."""
    total: defaultdict[tuple[str, str], float] = defaultdict(float)
    for case in ElementTree.parse(report).getroot().iter("testcase") if report.exists() else ():
        function = case.attrib["name"].partition("[")[0]
        for entry in case.iter("property"):
            if entry.attrib["name"] == PROPERTY:
                key = (case.attrib["classname"], function)
                total[key] += float(entry.attrib["value"])
    return total


def cost_tables(by_test: Mapping[tuple[str, str], float], whole_s: float) -> str:
    """What the folders, the dearest files and the dearest functions took of `whole_s`."""
    folders: defaultdict[str, float] = defaultdict(float)
    files: defaultdict[str, float] = defaultdict(float)
    tests: defaultdict[str, float] = defaultdict(float)
    for (module, function), used_s in by_test.items():
        folders[module.rpartition(".")[0]] += used_s
        files[module] += used_s
        tests[f"{module}.{function}"] += used_s
    folders["(collection, start, reports)"] = whole_s - sum(files.values())
    lines = [f"processor time: {whole_s:.0f} s"]
    for title, table, count in (
        ("folders", folders, len(folders)),
        ("files", files, TOP),
        ("tests", tests, TOP),
    ):
        entries = sorted(table.items(), key=lambda entry: -entry[1])
        lines += [
            "",
            f"{title}:",
            *(f"{used_s:9.1f} s  {name}" for name, used_s in entries[:count]),
        ]
    return "\n".join(lines)
