"""`python -m tests.pictures [DIR]`: the pictures that the README and the tour show.

Nothing is measured: the runs are written with constants for host and times, and the window is
opened on the offscreen platform with its own typeface and none of the system's. So a picture
depends on the code alone, and `tests.docs.test_pictures` compares the stored ones with new ones.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from app.cases.case import Case
from app.cases.jobs import AccuracyResult, Operator, OperatorTimes, subject_of
from app.run_folder.folder import RunFolder
from app.run_folder.journal import ModelExported
from app.run_folder.live_status import Live, LiveFile
from app.run_folder.operators import write_operators
from app.runs.reader import read_run
from tests.app.columns.filled import MODEL
from tests.checkout import ROOT
from tests.desktop.grabs import Grabber
from tests.desktop.looks import USUAL
from tests.desktop.made import Made
from tests.golden.runs import (
    HOST,
    Speed,
    export,
    history,
    make,
    manifest,
    measure,
    plain,
    two_runs,
)

SHOWN = ROOT / "assets" / "screenshots"
LARGEST_BYTES = 250_000
_ENGINES = ("ort-cpu", "openvino-cpu")


def sizes(path: Path) -> Path:
    """Two models at five batch sizes."""
    levels = {"mlp": 9.0, "cnn_tiny": 41.0}
    cases = [
        Case(model, engine, axes={"batch": batch})
        for model in levels
        for engine in _ENGINES
        for batch in (1, 2, 4, 8, 16)
    ]

    def fill(folder: RunFolder) -> None:
        for case in cases:
            growth, start = (0.75, 1.5) if case.runtime == _ENGINES[1] else (0.95, 1.0)
            us = levels[case.model] * start * case.axes["batch"] ** growth
            measure(folder, case, Speed(us), 3)

    return make(path, cases, fill, rounds=3)


def profiled(path: Path) -> Path:
    """A small network whose operators' times are known."""
    case = Case("cnn_tiny", "ort-cpu", axes={"batch": 1})
    kinds = ("Conv", "Relu", "MaxPool", "Conv", "Relu", "GlobalAveragePool", "Gemm", "Softmax")
    times_us = (14.2, 1.1, 3.4, 17.9, 0.8, 1.6, 2.2, 0.9)
    operators = tuple(
        Operator(f"{kind.lower()}_{place}", kind, us, kind)
        for place, (kind, us) in enumerate(zip(kinds, times_us, strict=True))
    )

    def fill(folder: RunFolder) -> None:
        measure(folder, case, Speed(43.0))
        folder.record(write_operators(folder, OperatorTimes(case.case_id, "wall", 100, operators)))

    return make(path, [case], fill, profile_ops=True)


def labelled(path: Path) -> Path:
    """Two families of six widths each, with what they cost and how often they are right."""
    cases = [
        Case(f"digits_{family}_{width}", engine, axes={"batch": 64})
        for family in ("mlp", "cnn")
        for width in (2, 4, 8, 16, 32, 64)
        for engine in _ENGINES
    ]

    def fill(folder: RunFolder) -> None:
        for case in cases:
            _, family, width = case.model.split("_")
            convolves = family == "cnn"
            model = replace(MODEL, name=case.model, family=family, axes={"batch": 64})
            folder.record(ModelExported(case.model, "fp32", model))
            us = (60.0 if convolves else 8.0) * int(width) ** 0.9
            measure(folder, case, Speed(us * (1.3 if case.runtime == _ENGINES[1] else 1.0)), 3)
            missed = (0.4 if convolves else 0.5) * int(width) ** -0.6
            subject = subject_of(case, model).case_id
            folder.record(AccuracyResult(subject, "digits", 0.97 - missed, 448, 64))

    return make(path, cases, fill, rounds=3)


@contextmanager
def paused(path: Path) -> Iterator[Made]:
    """A run that waits in the middle, held open by this process."""
    cases = [Case(model, engine) for model in ("cnn_tiny", "lstm_tiny") for engine in _ENGINES]
    with RunFolder.create(path, manifest(path.name, cases, 3)) as folder:
        folder.begin(HOST)
        export(folder, cases)
        for place, case in enumerate(cases[:3]):
            measure(folder, case, Speed(30.0 + 15.0 * place), 2)
        current = cases[3].case_id
        live = Live("paused", 0, len(cases), 0, len(cases) * 3, 6, 2, 2, case_id=current)
        live.round, live.phase, live.iterations, live.eta_s = 1, "measure", 240, 9.0
        LiveFile(folder).write(live, always=True)
        yield Made(path)


def finished(make_run: Callable[[Path], Path]) -> Callable[[Path], AbstractContextManager[Made]]:
    """The same with its end recorded; a run called `after` has another before it."""

    @contextmanager
    def made(path: Path) -> Iterator[Made]:
        run = make_run(path)
        runs = [run.with_name("before"), run] if run.name == "after" else [run]
        for one in runs:
            with RunFolder.reopen(one) as folder:
                cases = len(read_run(one).cases)
                rounds = cases * folder.manifest.rounds
                live = Live("finished", 0, cases, 0, rounds, rounds, exit_code=0)
                LiveFile(folder).write(live, always=True)
        yield Made(runs[0], beside=runs[1] if runs[1:] else None)

    return made


@dataclass(frozen=True, slots=True)
class Picture:
    """A view of a run that `make` writes; `query`: what is typed into the palette over it."""

    name: str
    view: str
    make: Callable[[Path], AbstractContextManager[Made]]
    query: str = ""

    @property
    def theme(self) -> str:
        return self.name.rpartition("-")[2]


PICTURES = (
    Picture("measure-dark", "histogram", finished(plain)),
    Picture("results-light", "ranking", finished(plain)),
    Picture("against-light", "trends", finished(sizes)),
    Picture("compare-light", "compare", finished(two_runs)),
    Picture("history-light", "history", finished(history)),
    Picture("operators-dark", "operators", finished(profiled)),
    Picture("accuracy-light", "accuracy", finished(labelled)),
    Picture("palette-light", "ranking", finished(plain), "compare"),
    Picture("measuring-dark", "timeline", paused),
)


def draw_all(folder: Path) -> None:
    """Every picture as a PNG in the folder; one process for each theme."""
    with TemporaryDirectory() as home:
        fonts = Path(home, "fonts.conf")
        fonts.write_text("<fontconfig></fontconfig>", "utf-8")
        env = {**os.environ, **USUAL.env, "QT_QPA_PLATFORM": "offscreen", "TZ": "UTC"}
        env |= {"FONTCONFIG_FILE": str(fonts), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
        env |= {f"XDG_{kind}_HOME": f"{home}/{kind}" for kind in ("CONFIG", "DATA", "CACHE")}
        for theme in ("light", "dark"):
            command = [sys.executable, "-m", "tests.pictures", str(folder), theme]
            subprocess.run(command, cwd=ROOT, env=env, check=True)


def _draw_theme(folder: Path, theme: str) -> None:
    with TemporaryDirectory() as made:
        grabber = Grabber(Path(made), USUAL, theme)
        for picture in PICTURES:
            if picture.theme == theme:
                _draw(grabber, picture, Path(made, picture.name), folder / f"{picture.name}.png")
    sys.stdout.flush()
    os._exit(0)  # views without a window are left, which Qt takes apart in no order


def _draw(grabber: Grabber, picture: Picture, made: Path, target: Path) -> None:
    made.mkdir()
    with picture.make(made / "nets") as run:
        grabber.open(run)
        grabber.show(picture.view)
        grabber.save(target, picture.query)


def main() -> int:
    """Write them where pages look for them, or into a folder; returns 0."""
    if len(sys.argv) > 2:
        _draw_theme(Path(sys.argv[1]), sys.argv[2])
    folder = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else SHOWN
    draw_all(folder)
    for path in sorted(folder.glob("*.png")):
        assert path.stat().st_size <= LARGEST_BYTES, (
            f"{path.name} is larger than a page should load"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
