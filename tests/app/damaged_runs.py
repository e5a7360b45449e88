"""A real run with a value of its manifest or journal replaced, and everything that reads runs."""

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

from app.__main__ import main
from app.notebook import open as open_run
from app.runs.following.reader import RunReader
from exporters.types import GraphlapError
from tests.hostile_values import changed_anywhere

_POLLS = 3


def damaged_copy(run: Path, target: Path, seed: int) -> Path:
    """A copy of the run in which one to three values are others."""
    draw = random.Random(seed)
    shutil.copytree(run, target, copy_function=os.link)
    (target / "live.json").unlink(missing_ok=True)  # it may have the manifest's checksum
    times = draw.choice((1, 1, 2, 3))
    if draw.random() < 0.4:
        manifest = json.loads((run / "manifest.json").read_bytes())
        _replace(
            target / "manifest.json", json.dumps(changed_anywhere(manifest, draw, times), indent=1)
        )
        return target
    journal = draw.choice(sorted((run / "journal").iterdir()))
    lines = [json.loads(line) for line in journal.read_bytes().splitlines()]
    for line in lines:
        line.pop("crc", None)
    number = draw.randrange(len(lines))
    kind = lines[number].get("kind")
    lines[number] = changed_anywhere(lines[number], draw, times)
    if isinstance(lines[number], dict) and draw.random() < 0.8:
        lines[number].setdefault("kind", kind)
    _replace(target / "journal" / journal.name, "".join(f"{json.dumps(line)}\n" for line in lines))
    return target


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


def faults(run: Path, folder: Path, seed: int, names: tuple[str, ...] = ()) -> Iterator[str]:
    """What each reader did of a damaged copy that is neither its work nor an error of ours."""
    copy = damaged_copy(run, folder / f"damaged{seed}", seed)
    for name in names or tuple(READERS):
        out = folder / f"out{seed}"
        try:
            READERS[name](copy, run, out)
        except GraphlapError:
            pass
        except Exception as error:
            yield f"seed {seed}, {name}: {type(error).__name__}: {error!s:.300}"
        _remove(out)
    shutil.rmtree(copy)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
