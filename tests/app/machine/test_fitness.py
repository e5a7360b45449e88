"""Machines of other kinds, by the files that they have, are judged before anything is measured."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from app.machine.readiness import (
    Busy,
    judge,
    judge_boost,
    judge_governor,
    judge_idle_states,
    judge_memory,
    judge_siblings,
    judge_timer_slack,
    judge_virtual,
    look,
)

CPU = "sys/devices/system/cpu"


def idle_state(number: int, name: str, latency_us: int, disable: int = 0) -> dict[str, str]:
    folder = f"{CPU}/cpu0/cpuidle/state{number}"
    values = {"name": name, "latency": latency_us, "disable": disable}
    return {f"{folder}/{key}": f"{value}\n" for key, value in values.items()}


LAPTOP = {
    f"{CPU}/cpufreq/policy0/scaling_governor": "powersave\n",
    f"{CPU}/cpufreq/policy1/scaling_governor": "powersave\n",
    f"{CPU}/intel_pstate/no_turbo": "0\n",
    f"{CPU}/cpu0/topology/thread_siblings_list": "0,4\n",
    f"{CPU}/cpu1/topology/thread_siblings_list": "1,5\n",
    **idle_state(0, "POLL", 0),
    **idle_state(1, "C10", 890),
    "proc/meminfo": "MemTotal:       16105932 kB\nMemFree:          301408 kB\n"
    "MemAvailable:     902112 kB\nSwapTotal:       2097148 kB\nSwapFree:         112340 kB\n",
}
SERVER = {
    f"{CPU}/cpufreq/policy0/scaling_governor": "performance\n",
    f"{CPU}/cpufreq/boost": "0\n",
    f"{CPU}/cpu0/topology/thread_siblings_list": "0\n",
    f"{CPU}/cpu1/topology/thread_siblings_list": "1\n",
    **idle_state(1, "C1", 2),
    **idle_state(2, "C2", 800, disable=1),
    "proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu vme de pse tsc msr\n",
    "proc/meminfo": "MemTotal:       131841028 kB\nMemFree:        90244312 kB\n"
    "MemAvailable:   120125600 kB\nSwapTotal:              0 kB\nSwapFree:               0 kB\n",
    "proc/self/timerslack_ns": "50000\n",
}
GUEST = {"proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm\n"}
QUIET = Busy(0.03, 0.0, ())
REMEDIES = ("-g performance", "echo 1", "echo off", "end what holds memory", "idle-set -D 50")


def machine(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_a_quiet_server_is_fine_in_all(tmp_path: Path) -> None:
    findings = judge(machine(tmp_path, SERVER), (0, 1), QUIET)
    assert {finding.what: finding.verdict for finding in findings if finding.verdict != "ok"} == {}
    assert not any(finding.remedy for finding in findings)
    silent = judge(tmp_path / "silent", (0,), QUIET)
    assert {finding.verdict for finding in silent if finding.what != "other load"} == {"unknown"}


def test_a_laptop_is_doubtful_and_each_doubt_has_its_remedy(tmp_path: Path) -> None:
    root = machine(tmp_path, LAPTOP)
    findings = [
        judge_governor(root),
        judge_boost(root),
        judge_siblings(root, (0, 1)),
        judge_memory(root),
        judge_idle_states(root),
    ]
    assert {finding.verdict for finding in findings} == {"warn"}
    for finding, remedy in zip(findings, REMEDIES, strict=True):
        assert remedy in finding.remedy
    assert "threads 0,4 are one core" in findings[2].found
    assert findings[3].found == "0.9 of 15.4 GiB free, 1.9 GiB in swap"
    assert findings[4].found == "a core in C10 wakes in 890 us"
    machine(root, {f"{CPU}/cpufreq/policy4/scaling_governor": "performance\n"})
    assert judge_governor(root).found.startswith("performance, powersave")
    saving = judge_timer_slack(machine(root, {"proc/self/timerslack_ns": "40000000\n"}))
    assert (saving.verdict, saving.found) == ("warn", "a sleeper is woken up to 40000 us late")
    amd = judge_boost(machine(tmp_path / "amd", {f"{CPU}/cpufreq/boost": "1\n"}))
    assert amd.verdict == "warn" and "echo 0" in amd.remedy, "Intel's says 0 where it is on"


def test_a_virtual_machine_says_what_its_hypervisor_took(tmp_path: Path) -> None:
    root = machine(tmp_path, GUEST)
    assert judge_virtual(root, QUIET).found == "a virtual machine"
    finding = judge_virtual(root, Busy(0.0, 0.08, ()))
    assert finding.verdict == "warn"
    assert "its hypervisor took 8.0% just now" in finding.found
    xen = machine(tmp_path / "xen", {"proc/cpuinfo": "", "sys/hypervisor/type": "xen\n"})
    assert judge_virtual(xen, QUIET).verdict == "warn"


def test_who_keeps_this_machine_busy_is_told_in_cores() -> None:
    code = "import os\nwhile os.getppid() > 1: pass"
    with subprocess.Popen([sys.executable, "-c", code]) as spinning:
        busy = look(0.5)
        spinning.kill()
    shares = {pid: cores for _, pid, cores in busy.processes}
    assert 0.1 < shares[spinning.pid] < 1.1
    assert os.getpid() not in shares
    assert 0.0 < busy.cores <= (os.cpu_count() or 1) + 0.1
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
