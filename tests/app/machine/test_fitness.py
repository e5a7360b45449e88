"""Machines of other kinds, by the files that they have, are judged before anything is measured."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.machine.readiness import (
    Busy,
    Judged,
    Process,
    busy_between,
    judge,
    judge_boost,
    judge_governor,
    judge_idle_states,
    judge_load,
    judge_memory,
    judge_siblings,
    judge_timer_slack,
    judge_virtual,
    look,
    read_activity,
)

CPU = "sys/devices/system/cpu"
LAPTOP = {
    f"{CPU}/cpufreq/policy0/scaling_governor": "powersave\n",
    f"{CPU}/cpufreq/policy1/scaling_governor": "powersave\n",
    f"{CPU}/intel_pstate/no_turbo": "0\n",
    f"{CPU}/smt/active": "1\n",
    f"{CPU}/cpu0/topology/thread_siblings_list": "0,4\n",
    f"{CPU}/cpu1/topology/thread_siblings_list": "1,5\n",
    f"{CPU}/cpu0/cpuidle/state0/name": "POLL\n",
    f"{CPU}/cpu0/cpuidle/state0/latency": "0\n",
    f"{CPU}/cpu0/cpuidle/state0/disable": "0\n",
    f"{CPU}/cpu0/cpuidle/state1/name": "C10\n",
    f"{CPU}/cpu0/cpuidle/state1/latency": "890\n",
    f"{CPU}/cpu0/cpuidle/state1/disable": "0\n",
    "proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu vme de pse tsc msr\n",
    "proc/meminfo": "MemTotal:       16105932 kB\nMemFree:          301408 kB\n"
    "MemAvailable:     902112 kB\nSwapTotal:       2097148 kB\nSwapFree:         112340 kB\n",
    "proc/self/timerslack_ns": "50000\n",
}
SERVER = {
    f"{CPU}/cpufreq/policy0/scaling_governor": "performance\n",
    f"{CPU}/cpufreq/boost": "0\n",
    f"{CPU}/cpu0/topology/thread_siblings_list": "0\n",
    f"{CPU}/cpu1/topology/thread_siblings_list": "1\n",
    f"{CPU}/cpu0/cpuidle/state1/name": "C1\n",
    f"{CPU}/cpu0/cpuidle/state1/latency": "2\n",
    f"{CPU}/cpu0/cpuidle/state1/disable": "0\n",
    f"{CPU}/cpu0/cpuidle/state2/name": "C2\n",
    f"{CPU}/cpu0/cpuidle/state2/latency": "800\n",
    f"{CPU}/cpu0/cpuidle/state2/disable": "1\n",
    "proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu vme de pse tsc msr\n",
    "proc/meminfo": "MemTotal:       131841028 kB\nMemFree:        90244312 kB\n"
    "MemAvailable:   120125600 kB\nSwapTotal:              0 kB\nSwapFree:               0 kB\n",
    "proc/self/timerslack_ns": "50000\n",
}
GUEST = {
    "proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm\n",
    "proc/self/timerslack_ns": "50000\n",
}
QUIET = Busy(0.03, 0.0, ())


def machine(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_a_quiet_server_is_fine_in_all(tmp_path: Path) -> None:
    findings = judge(machine(tmp_path, SERVER), (0, 1), QUIET)
    assert {finding.what: finding.verdict for finding in findings if finding.verdict != "ok"} == {}
    assert not any(finding.remedy for finding in findings)


def test_a_laptop_is_doubtful_and_each_doubt_has_its_remedy(tmp_path: Path) -> None:
    root = machine(tmp_path, LAPTOP)
    findings = [
        judge_governor(root),
        judge_boost(root),
        judge_siblings(root, (0, 1)),
        judge_memory(root),
        judge_idle_states(root),
    ]
    assert [(finding.verdict, finding.remedy) for finding in findings] == [
        ("warn", "sudo cpupower frequency-set -g performance"),
        ("warn", "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"),
        ("warn", "echo off | sudo tee /sys/devices/system/cpu/smt/control"),
        ("warn", "end what holds memory"),
        ("warn", "sudo cpupower idle-set -D 50, or pace with --idle-policy spin"),
    ]
    assert "threads 0,4 are one core" in findings[2].found
    assert findings[3].found == "0.9 of 15.4 GiB free, 1.9 GiB in swap"
    assert findings[4].found == "a core in C10 wakes in 890 us"


def test_cores_of_different_governors_are_all_named(tmp_path: Path) -> None:
    policies = {f"{CPU}/cpufreq/policy4/scaling_governor": "performance\n"}
    finding = judge_governor(machine(tmp_path, LAPTOP | policies))
    assert finding.verdict == "warn"
    assert finding.found.startswith("performance, powersave")


def test_amds_boost_says_1_where_intels_says_0(tmp_path: Path) -> None:
    finding = judge_boost(machine(tmp_path, {f"{CPU}/cpufreq/boost": "1\n"}))
    assert finding.verdict == "warn"
    assert finding.remedy == "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"


def test_a_virtual_machine_says_what_its_hypervisor_took(tmp_path: Path) -> None:
    root = machine(tmp_path, GUEST)
    assert judge_virtual(root, QUIET).found == "a virtual machine"
    finding = judge_virtual(root, Busy(0.0, 0.08, ()))
    assert finding.verdict == "warn"
    assert "its hypervisor took 8.0% just now" in finding.found
    xen = machine(tmp_path / "xen", {"proc/cpuinfo": "", "sys/hypervisor/type": "xen\n"})
    assert judge_virtual(xen, None).verdict == "warn"


def test_what_a_machine_does_not_tell_is_not_called_fine(tmp_path: Path) -> None:
    assert {finding.verdict for finding in judge(tmp_path, (0,), None)} == {"unknown"}


def test_the_busiest_are_named(tmp_path: Path) -> None:
    processes = ((Process(7, "cc1plus", 0), 0.98), (Process(9, "firefox", 0), 0.2))
    finding = judge_load(Busy(1.3, 0.0, processes))
    assert finding.found == "1.3 cores are busy: cc1plus (7) 98%, firefox (9) 20%"
    assert judge_load(Busy(1.3, 0.0, ())).found.endswith("no process that is visible from here")
    assert judge_load(QUIET) == Judged("other load", "ok", "0.0 cores are busy")


def test_a_power_saving_mode_shows_in_the_timers(tmp_path: Path) -> None:
    finding = judge_timer_slack(machine(tmp_path, {"proc/self/timerslack_ns": "40000000\n"}))
    assert (finding.verdict, finding.found) == ("warn", "a sleeper is woken up to 40000 us late")


def stat_of(user: int, idle: int, steal: int) -> str:
    return f"cpu  {user} 0 0 {idle} 0 0 0 {steal} 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\n"


def test_what_is_between_two_readings_is_told_in_cores(tmp_path: Path) -> None:
    """Four cores for one second: one is kept busy, a half is stolen."""
    line = "{} ({}) R 1 1 1 0 -1 4194304 0 0 0 0 {} {} 0 0 20 0 1 0 100 0 0\n"
    first_root = machine(
        tmp_path / "before",
        {
            "proc/stat": stat_of(1000, 5000, 100),
            "proc/77/stat": line.format(77, "tmux: (x) y", 10, 5),
            "proc/80/stat": line.format(80, "cc1", 500, 0),
        },
    )
    last_root = machine(
        tmp_path / "after",
        {
            "proc/stat": stat_of(1100, 5250, 150),
            "proc/77/stat": line.format(77, "tmux: (x) y", 20, 15),
            "proc/80/stat": line.format(80, "cc1", 575, 0),
            "proc/81/stat": line.format(81, "new", 90, 0),
        },
    )
    first, last = read_activity(first_root), read_activity(last_root)
    assert first is not None and last is not None
    busy = busy_between(first, last, cores=4, own_pid=1)
    assert busy.cores == pytest.approx(1.0)
    assert busy.stolen_share == pytest.approx(0.125)
    assert [process.name for process, _ in busy.processes] == ["cc1", "tmux: (x) y"]
    assert [share for _, share in busy.processes] == pytest.approx([0.75, 0.2])
    assert not any(p.pid == 80 for p, _ in busy_between(first, last, 4, own_pid=80).processes)


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="this system has no /proc")
def test_this_machine_is_read() -> None:
    busy = look(Path("/"), 0.2)
    assert busy is not None
    assert -0.1 <= busy.cores <= (os.cpu_count() or 1) + 0.1
