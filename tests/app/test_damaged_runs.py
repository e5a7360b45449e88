"""Runs with a hostile value anywhere: each reader leaves out what is damaged, or refuses."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from app.__main__ import main
from app.cli.notebook import open as open_run
from app.run_folder.files import DOCUMENT
from app.runs.following.reader import RunReader
from exporters.types import GraphlapError
from tests.app.cli.headless.batch import run as batch
from tests.app.run_folder.resealed import reseal_journal
from tests.app.sweep.sweeps import write_add_graph
from tests.hostile_values import VALUES, changed_anywhere
from tests.parallel import once

_POLLS = 3


def damaged_copy(run: Path, target: Path, seed: int) -> Path:
    """A copy of the run in which one to three values are others."""
    draw = random.Random(seed)
    shutil.copytree(run, target, copy_function=os.link)
    (target / "live.json").unlink(missing_ok=True)  # it may have the manifest's checksum
    times = draw.choice((1, 1, 2, 3))
    if draw.random() < 0.4:
        manifest = json.loads((run / "manifest.json").read_bytes())
        del manifest["crc32"]
        _replace_manifest(target, changed_anywhere(manifest, draw, times))
        return target
    journal = draw.choice(sorted((run / "journal").iterdir()))
    lines = [json.loads(line) for line in journal.read_bytes().splitlines()]
    number = draw.randrange(len(lines))
    kind = lines[number].get("kind")
    lines[number] = changed_anywhere(lines[number], draw, times)
    if isinstance(lines[number], dict) and draw.random() < 0.8:
        lines[number].setdefault("kind", kind)
    _replace_journal(target / "journal" / journal.name, lines)
    return target


def _replace_manifest(run: Path, values: object) -> None:
    text = DOCUMENT.sealed(json.dumps(values, indent=1).encode() + b"\n")
    _replace(run / "manifest.json", text.decode())


def _replace_journal(path: Path, lines: list[Any]) -> None:
    _replace(path, "".join(f"{json.dumps(line)}\n" for line in lines))
    reseal_journal(path)


def _replace(path: Path, text: str) -> None:
    """Not written through the link to the run's own."""
    path.unlink()
    path.write_text(text, encoding="utf-8", errors="surrogatepass")


def _command(*words: str) -> Callable[[Path, Path, Path], object]:
    """A command line with RUN, WHOLE and OUT in the place of folders: of no traceback it ends with
    an exit code, and prints no character that would steer a terminal."""

    def read(run: Path, whole: Path, out: Path) -> None:
        folders = {"RUN": str(run), "WHOLE": str(whole), "OUT": str(out)}
        output, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            code = main([folders.get(word, word) for word in words])
        assert code in (0, 1, 2, 3)
        if code == 2:
            assert errors.getvalue().count("\n") == 1, errors.getvalue()
        assert not set(output.getvalue() + errors.getvalue()) & {"\x1b", "\x00", "\x07"}

    return read


def _open(run: Path, whole: Path, out: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = open_run(run)
        assert len(folder.rows) >= 0
        folder.samples()
        folder._repr_html_()
        folder.compare(whole)


def _follow(run: Path, whole: Path, out: Path) -> None:
    with closing(RunReader(run)) as reader:
        for _ in range(_POLLS):
            reader.poll()
            time.sleep(0.01)


READERS: Mapping[str, Callable[[Path, Path, Path], object]] = {
    "verify": _command("verify", "RUN"),
    "export": _command("export", "-f", "csv,json,markdown,hdr,trace,parquet", "RUN"),
    "compare": _command("compare", "WHOLE", "RUN"),
    "compare back": _command("compare", "RUN", "WHOLE"),
    "show several": _command("show", "there=RUN", "here=WHOLE"),
    "open": _open,
    "follow": _follow,
    "report": _command("report", "RUN", "-o", "OUT"),
}


def faults(run: Path, folder: Path, seed: int, names: tuple[str, ...]) -> list[str]:
    copy = damaged_copy(run, folder / f"damaged{seed}", seed)
    return list(_faults_of(copy, run, folder, names))


def _faults_of(copy: Path, run: Path, folder: Path, names: tuple[str, ...]) -> Iterator[str]:
    """What each reader did of a damaged copy that is neither its work nor an error of ours."""
    for name in names:
        try:
            READERS[name](copy, run, folder / f"out {name}")
        except GraphlapError:
            pass
        except Exception as error:
            yield f"{name}: {type(error).__name__}: {error!s:.300}"


QUICK = ("verify", "export", "open", "compare", "show several")
SLOW = tuple(name for name in READERS if name not in QUICK)
SEEDS, SEEDS_OF_SLOW, RARE_SEEDS = 8, (0, 52), 200


@pytest.fixture(scope="module")
def whole(brief: None, cache: Path) -> Path:
    """A real run with the times of operators, of few samples, once for all processes."""
    folder = cache.parent / "whole"
    with once(folder) as is_new, pytest.MonkeyPatch.context() as patch:
        if is_new:
            patch.setenv("GRAPHLAP_CACHE", str(cache))
            graph = write_add_graph(folder / "add.onnx")
            arguments = ["--headless", "--models", str(graph), "--runtimes", "ort-cpu,fake"]
            few = ["--scenario", "paced:5ms", "--preset", "brief", "--rounds", "2", "--op-times"]
            assert batch(*arguments, *few, "--out", str(folder / "run"))[0] == 0
    return folder / "run"


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_damaged_run_is_read_or_refused(seed: int, whole: Path, tmp_path: Path) -> None:
    assert not list(faults(whole, tmp_path, seed, QUICK))


@pytest.mark.parametrize("seed", SEEDS_OF_SLOW)
def test_a_damaged_run_is_shown_or_refused(seed: int, whole: Path, tmp_path: Path) -> None:
    assert not list(faults(whole, tmp_path, seed, SLOW))


def _in_lines(kind: str, change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    """Change the lines of a kind."""

    def damage(run: Path) -> None:
        for journal in (run / "journal").iterdir():
            lines = [json.loads(line) for line in journal.read_bytes().splitlines()]
            for line in lines:
                if line["kind"] == kind:
                    change(line)
            _replace_journal(journal, lines)

    return damage


def _in_manifest(**values: Any) -> Callable[[Path], None]:
    def damage(run: Path) -> None:
        manifest = json.loads((run / "manifest.json").read_bytes())
        del manifest["crc32"]
        _replace_manifest(run, {**manifest, **values})

    return damage


def _dangling(run: Path) -> None:
    (run / "journal" / "zz.jsonl").symlink_to(run / "gone")


_DEEP = VALUES[-1]
_PEAK = {"flops_per_s": 0.0, "bytes_per_s": 0.0, "in_use_bytes": 0, "how": ""}
_DAMAGE: dict[str, Callable[[Path], None]] = {
    "a NUL in the name of samples": _in_lines("round", lambda line: line.update(samples="a\0b")),
    "no name of a plan": _in_manifest(name="no name\x1b of a plan"),
    "packages that are a list": _in_manifest(environment={"packages": ["a"], "host": "h"}),
    "a deep environment": _in_manifest(environment={"x": _DEEP, "host": "h"}),
    "a peak of nothing": _in_lines("operators", lambda line: line.update(peak=_PEAK)),
    "a negative clock": _in_lines(
        "round", lambda line: line.update(interference={"seconds": 1.0, "cpu_mhz": [-1.0] * 21})
    ),
    "a time that is none": _in_lines("round", lambda line: line.update(started_at_utc="yesterday")),
    "NaN in all figures": _in_lines("round", lambda line: line.update(duration_s=float("nan"))),
    "a journal that is a dangling link": _dangling,
}


@pytest.mark.parametrize("kind", _DAMAGE)
def test_known_damage_is_told_by_every_reader(kind: str, whole: Path, tmp_path: Path) -> None:
    """Each reads what is whole, or refuses in one sentence."""
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    (run / "live.json").unlink()
    _DAMAGE[kind](run)
    assert not list(_faults_of(run, whole, tmp_path, tuple(READERS)))


def test_a_history_goes_on_without_what_is_damaged(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "runs" / "whole")
    shutil.copytree(whole, tmp_path / "runs" / "linked")
    _in_manifest(run_id="another")(tmp_path / "runs" / "linked")
    _dangling(tmp_path / "runs" / "linked")
    for seed in range(20):
        damaged_copy(whole, tmp_path / "runs" / f"damaged{seed}", seed)
    code, out, _ = batch("history", str(tmp_path / "runs"))
    assert code == 0 and "series of" in out
