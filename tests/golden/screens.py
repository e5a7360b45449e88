"""Everything that Graphlap shows of a stored run, as texts by file name.

`normalised` is the only place where a text is changed before it is compared: what depends on
where and when the folder was made, and on the version, is replaced by a constant.
"""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from app.__main__ import main
from app.analysis.columns.tables import read_rows
from app.machine.environment import graphlap_version
from app.plan.studies import load_study
from app.present.console.export_formats import export
from app.present.report.page import page
from app.present.studies.page import page as study_page
from app.present.studies.study import found_in, study
from app.present.terminal import as_markdown, escaped
from app.run_folder.manifest import read_manifest
from app.run_folder.run import Run
from app.runs.reader import read_run
from tests.golden.folders import NAMES, unpack

EXPECTED = Path(__file__).with_name("expected")
HELP = "help.txt"
WIDTHS = (80, 120)
WITH_TABLES = ("plain", "failures", "slo", "card", "imported")
"""Of the others results.csv and the exports would show nothing more."""
_SCRIPTS = re.compile(r"<(script|style|svg)\b.*?</\1>", re.DOTALL)
"""Of a drawing its caption is shown; tests of figures have its numbers."""
_ENDS = re.compile(r"</(p|h1|h2|h3|li|tr|caption|figcaption|pre|summary|th|td)>")
_TAG = re.compile(r"<[^>]+>")
_LONG_NUMBER = re.compile(r"-?\d+\.\d{9,}(?:e-?\d+)?")
"""A number in all its digits, of which the last depend on the order of a sum's terms, and so on how
wide the processor's vectors are."""


def texts() -> Iterator[tuple[str, str]]:
    """Path below `expected` and text of every screen, run by run."""
    yield HELP, printed("--help", columns=80)
    for name in NAMES:
        with TemporaryDirectory() as folder:
            yield from texts_of(name, Path(folder).resolve())


def texts_of(name: str, folder: Path) -> Iterator[tuple[str, str]]:
    """The same of one run, unpacked into an empty folder. Paths are relative to it, so that a
    long name breaks no line."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run = unpack(name, Path(name))
        for file, text in screens(name, run).items():
            yield f"{name}/{file}", normalised(text, run)


def screens(name: str, path: Path) -> dict[str, str]:
    """The texts of one run by file name."""
    run = read_run(path)
    texts_by_file = {f"terminal-{width}.txt": end_of_run(run, width) for width in WIDTHS}
    if name == "compared":
        path_before = str(path.with_name("before"))
        texts_by_file["compare.txt"] = printed("compare", path_before, str(path), columns=80)
        texts_by_file["compare.md"] = printed(
            "compare", path_before, str(path), "-f", "markdown", columns=80
        )
        output = path.parent / "verdicts.json"
        printed("compare", path_before, str(path), "--json", str(output), columns=80)
        texts_by_file["compare.json"] = output.read_text("utf-8")
        return texts_by_file
    if name == "history":
        return {
            f"history-{width}.txt": printed("history", str(path.parent), columns=width)
            for width in WIDTHS
        }
    if name == "study":
        findings = found_in(path, load_study("neurio"))
        return {"study.md": as_markdown(study_page(study("neurio"), findings))}
    if name not in ("large", "sizes", "operators"):
        export(run, ("markdown", "json"))
        texts_by_file["results.md"] = (path / "results.md").read_text("utf-8")
        texts_by_file["report.txt"] = text_of_page("".join(page([(run, ())])))
    if name in WITH_TABLES:
        texts_by_file["results.csv.txt"] = table_text(path / "results.full.csv")
        texts_by_file["results.json.txt"] = json_text(
            path / "results.json", columns=name == "plain"
        )
    return texts_by_file


def end_of_run(run: Run, width: int) -> str:
    """What batch mode prints once it has measured this run."""
    return printed("show", str(run.path), columns=width)


def printed(*arguments: str, columns: int) -> str:
    """The standard output of a command."""
    out = io.StringIO()
    with terminal(columns), redirect_stdout(out), suppress(SystemExit):  # argparse's end of --help
        main(arguments)
    return out.getvalue()


@contextmanager
def terminal(width: int) -> Iterator[None]:
    """A terminal as wide as this, in which Graphlap was started by its path."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        patch.setattr("sys.argv", ["/opt/graphlap/bin/graphlap"])
        yield


def table_text(path: Path) -> str:
    """A table of results turned on its side: a line for each column in which a row has a value."""
    rows = list(read_rows(path).values())
    header = path.read_text("utf-8").splitlines()[0].split(",")
    lines = [f"{len(header)} columns, {len(rows)} rows"]
    for name in header:
        values = ["" if row.get(name) is None else str(row.get(name)) for row in rows]
        if any(values):
            lines.append(f"{name}: {' | '.join(values)}")
    return "\n".join(lines) + "\n"


def json_text(path: Path, columns: bool) -> str:
    """The export without its empty cells, and only once with what its columns mean: they are the
    same for every run."""
    data = json.loads(path.read_text("utf-8"))
    if not columns:
        data["columns"] = len(data["columns"])
    rows = [
        {name: value for name, value in row.items() if value is not None} for row in data["rows"]
    ]
    data["rows"] = rows if columns else [sorted(row) for row in rows[:1]]
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def text_of_page(content: str) -> str:
    """The words of a page, a line for each element that holds some."""
    text = _TAG.sub(" ", _ENDS.sub("\n", _SCRIPTS.sub("", content)))
    lines = (" ".join(unescape(line).split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line) + "\n"


def normalised(text: str, run: Path) -> str:
    """Without what says where, when and by which version a folder was made."""
    stored_manifest = read_manifest(run)
    for known_text, constant in (
        (str(run.absolute()), "RUN"),
        (stored_manifest.run_id, "RUN-ID"),
        (stored_manifest.created_at_utc, "CREATED"),
        (stored_manifest.created_at_utc[:16].replace("T", " "), "CREATED"),
        (graphlap_version(), "VERSION"),
    ):
        for form in (known_text, escaped(known_text)):
            text = re.sub(rf"(?<![\w.]){re.escape(form)}(?!\w|\.\d)", constant, text)
    return text


def is_same(text: str, expected: str) -> bool:
    """Whether two texts are equal but for rounding in numbers that are shown in all their digits:
    units in the last place of 1, times the hundreds of terms of a sum."""
    return _LONG_NUMBER.split(text) == _LONG_NUMBER.split(expected) and all(
        math.isclose(float(a), float(b), rel_tol=1e-10, abs_tol=1e-13)
        for a, b in zip(_LONG_NUMBER.findall(text), _LONG_NUMBER.findall(expected), strict=True)
    )


def stored() -> Mapping[str, str]:
    """The expected texts by path."""
    return {
        path.relative_to(EXPECTED).as_posix(): path.read_text("utf-8")
        for path in sorted(EXPECTED.rglob("*"))
        if path.is_file()
    }
