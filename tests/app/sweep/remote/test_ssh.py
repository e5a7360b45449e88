"""Hosts reached by ssh, or by what stands in for it: how they are called, and what can be wrong.

The stand-in runs the last word of its command line in a shell of this machine, as sshd does there.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from app.sweep.remote.carriers import COMMAND_VARIABLE, PipeCarrier, ask_hosts, open_carrier
from app.sweep.remote.link import HostError
from exporters import install_layout
from tests.app.cli.headless.batch import rows, run
from tests.app.sweep.remote.processes import scripted
from tests.app.sweep.sweeps import write_add_graph

HERE = shlex.join(install_layout.starter_command("app"))
"""How Graphlap is called where it is not installed."""

pytestmark = pytest.mark.usefixtures("brief")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Graphlap as one word, for an address."""
    path = tmp_path / "graphlap"
    path.write_text(f'#!/bin/sh\nexec {HERE} "$@"\n')
    path.chmod(0o755)
    return path


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In place of ssh; what it was called with is in the file beside it."""
    path = tmp_path / "ssh"
    path.write_text(
        "#!/bin/sh\n"
        f'echo "$@" >> {tmp_path}/called\n'
        "echo welcome to the board\n"
        'for last; do :; done\nexec sh -c "$last"\n'
    )
    path.chmod(0o755)
    monkeypatch.setenv(COMMAND_VARIABLE, str(path))
    return path


def test_a_run_by_ssh_from_the_command_line_to_its_rows(
    tmp_path: Path, stand_in: Path, program: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    """What a login shell prints before does not matter."""
    monkeypatch.setenv("GRAPHLAP_CACHE", str(cache))
    graph = write_add_graph(tmp_path / "add.onnx")
    words = ["--headless", "--models", str(graph), "--runtimes", "fake", "--preset", "glance"]
    cluster = ["--cluster", f"ssh:pi@board={program}", "--rounds", "1"]
    code, _, errors = run(*words, *cluster, "--out", str(tmp_path / "run"))
    assert code == 0, errors
    (row,) = rows(tmp_path / "run")
    assert (row["status"], row["host"], row["attempts"]) == ("ok", "board", "1")
    ssh_call = (tmp_path / "called").read_text()
    assert ssh_call.startswith("-T -o BatchMode=yes -o ConnectTimeout=10 pi@board ")
    assert ssh_call.endswith(f"{program} worker --stdio\n")


def test_rows_call_hosts_as_the_address_does(stand_in: Path) -> None:
    assert open_carrier("ssh:pi@one,two").names == ("one", "two")
    assert open_carrier("ssh:a@one,b@one").names == ("a@one", "b@one"), "two users of one host"
    for address, said in {
        "ssh:": "names no host",
        "ssh:-oProxyCommand=sh": "names no host",
        "ssh:a,,b": "names no host",
        "ssh:a,b,a": "names a twice",
        "local:0": "no number of workers",
        "local:many": "no number of workers",
        "board1": "no address of a cluster",
    }.items():
        with pytest.raises(HostError, match=said):
            open_carrier(address)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("sys.exit('ssh: connect to host board port 22: No route to host')", "No route to host"),
        ("sys.exit('sh: 1: graphlap: not found')", "graphlap: not found"),
        (
            "print(json.dumps({'graphlap': '9.9'}), flush=True)\ntime.sleep(60)",
            "has Graphlap 9.9 and this machine has ",
        ),
    ],
)
def test_a_host_that_can_not_be_used_is_one_sentence(tmp_path: Path, body: str, said: str) -> None:
    carrier = PipeCarrier({"board": scripted(tmp_path / "bad.py", body)})
    with pytest.raises(HostError, match=f"board.*{said}"):
        ask_hosts(carrier)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--per-host"], ["--per-host needs --cluster"]),
        (["--cluster", "local:1", "--slo", "p99=5ms"], ["--cluster cannot be used with --slo"]),
        (["--cluster", "local:1", "--insecure-cluster"], ["has no certificates to do without"]),
        (["--cluster", "local:1", "--cores", "4000"], ["--cores names 4000"]),
        (
            ["--cluster", "ssh:one,two"],
            [f"{host}: its process ended with exit code 1" for host in ("one", "two")],
        ),
    ],
    ids=["no cluster", "a search", "no certificates", "cores", "hosts out of reach"],
)
def test_what_a_cluster_can_not_be_asked_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: list[str]
) -> None:
    monkeypatch.setenv(COMMAND_VARIABLE, f"{sys.executable} -c raise(SystemExit('no(route)')) --")
    out = tmp_path / "run"
    code, _, errors = run("--headless", "--models", "mlp", *words, "--out", str(out))
    assert code == 2
    assert all(sentence in errors for sentence in said)
    assert not out.exists()


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("tls://board:8786", "--stdio"),
        ("--stdio", "--cores", "x"),
        ("--stdio", "--insecure-cluster"),
        ("--stdio", "--rounds", "3"),
        ("tls://a:8786", "tls://b:8786"),
    ],
)
def test_a_worker_refuses_what_it_can_not_serve(words: tuple[str, ...]) -> None:
    code, out, errors = run("worker", *words)
    assert (code, out, len(errors.splitlines())) == (2, "", 1)
