"""`python -m tests.pictures [DIR]`: the pictures that the README and the tour show.

Nothing is measured: the runs are stored ones or have constants for host and times, and the window
is opened on the offscreen platform with its own typeface and none of the system's. So a picture
depends on the code alone, and `tests.docs.test_pictures` compares the stored ones with new ones.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from app.cases.case import Case
from app.run_folder.folder import RunFolder
from app.run_folder.live_status import Live, LiveFile
from tests.app.run_folder.measured import HOST, Speed, export, manifest, measure
from tests.checkout import ROOT
from tests.desktop.grabs import ENVIRONMENT, Grabber, Made, stored_run

SHOWN = ROOT / "assets" / "screenshots"
LARGEST_BYTES = 250_000
_ENGINES = ("ort-cpu", "openvino-cpu")


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


def finished(name: str) -> Callable[[Path], AbstractContextManager[Made]]:
    """A stored run with its end recorded."""
    return lambda path: nullcontext(stored_run(name, path))


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
    Picture("measure-dark", "histogram", finished("plain")),
    Picture("results-light", "ranking", finished("plain")),
    Picture("against-light", "trends", finished("sizes")),
    Picture("compare-light", "compare", finished("compared")),
    Picture("history-light", "history", finished("history")),
    Picture("operators-dark", "operators", finished("operators")),
    Picture("accuracy-light", "accuracy", finished("accuracy")),
    Picture("palette-light", "ranking", finished("plain"), "compare"),
    Picture("measuring-dark", "timeline", paused),
)


def draw_all(folder: Path) -> None:
    """Every picture as a PNG in the folder; one process for each theme."""
    with TemporaryDirectory() as home:
        fonts = Path(home, "fonts.conf")
        fonts.write_text("<fontconfig></fontconfig>", "utf-8")
        env = {**os.environ, **ENVIRONMENT, "TZ": "UTC"}
        env |= {"FONTCONFIG_FILE": str(fonts), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
        env |= {f"XDG_{kind}_HOME": f"{home}/{kind}" for kind in ("CONFIG", "DATA", "CACHE")}
        command = [sys.executable, "-m", "tests.pictures", str(folder)]
        themes = [subprocess.Popen([*command, t], cwd=ROOT, env=env) for t in ("light", "dark")]
        assert [theme.wait() for theme in themes] == [0, 0]


def _draw_theme(folder: Path, theme: str) -> None:
    with TemporaryDirectory() as made:
        grabber = Grabber(Path(made), theme)
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
