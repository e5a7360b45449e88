"""Run folders of the survey -> the Markdown page of which network ran where, and why not."""

from __future__ import annotations

import ast
import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from tests.survey.fitted import ESTIMATORS

RUNTIMES = ("ort-cpu", "openvino-cpu", "torch-cpu", "fpga:v80")
_HEADINGS = ("network", "from", *RUNTIMES[:-1], "card (V80)")
_PACKAGES = ("torch", "onnx", "onnxruntime-gpu", "openvino", "transformers", "torchvision", "timm")
_FITTED_BY = ("scikit-learn", "skl2onnx", "xgboost-cpu")
_NOT_RUN = "not run"

Rows = Mapping[str, Mapping[str, str]]
"""Runtime -> its row of results.csv."""

_INTRODUCTION = """\
# Other people's networks

Architectures of transformers, torchvision and timm with random weights, mostly in their smallest
variants, and fitted estimators of scikit-learn and xgboost, each measured by one command on four
runtimes. `python -m tests.survey` makes this page, in an hour or two. It asks whether a network
runs and whether its outputs hold, so there are no times in it.

`ok` is measured and its outputs compared. `partial` was computed and compared, but a node was left
to another engine, so that a simulated card has no time for it. The numbers lead to the reasons.
"""


def read_rows(folder: Path) -> Rows:
    """The rows of one network's run; empty if it left none."""
    path = folder / "results.full.csv"
    if not path.is_file():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        return {row["runtime"]: row for row in csv.DictReader(file)}


def page(results: Sequence[tuple[Network, Rows]]) -> str:
    """The whole page; the reasons are numbered as they first appear."""
    reasons: dict[str, int] = {}
    lines = [_line(network, rows, reasons) for network, rows in results if not _is_ok(rows)]
    ok_names = ", ".join(network.name for network, rows in results if _is_ok(rows))
    packages = ", ".join(f"{name} {version(name)}" for name in (*_PACKAGES, *_FITTED_BY))
    table = ["| " + " | ".join(_HEADINGS) + " |", "|" + " --- |" * len(_HEADINGS), *lines]
    reason_lines = [f"{number}. {reason}" for reason, number in reasons.items()]
    parts = [_INTRODUCTION, f"Versions: {packages}.\n", _sum(results)]
    parts += [f"`ok` on all four: {ok_names}.\n", "The others:\n", *table]
    parts += [""]
    return "\n".join([*parts, *(["## Reasons", "", *reason_lines, ""] if reason_lines else [])])


def _sum(results: Iterable[tuple[Network, Rows]]) -> str:
    networks = [rows for _, rows in results]
    counts = []
    for runtime in RUNTIMES:
        statuses = Counter(rows.get(runtime, {}).get("status", _NOT_RUN) for rows in networks)
        words = ", ".join(f"{number} {status}" for status, number in statuses.most_common())
        counts.append(f"- `{runtime}`: {words}")
    return "\n".join([f"Of {len(networks)} networks:\n", *counts, ""])


def _is_ok(rows: Rows) -> bool:
    return all(rows.get(runtime, {}).get("status") == "ok" for runtime in RUNTIMES)


def _line(network: Network, rows: Rows, reasons: dict[str, int]) -> str:
    cells = [_cell(network.name, rows.get(runtime, {}), reasons) for runtime in RUNTIMES]
    return "| " + " | ".join((network.name, network.source, *cells)) + " |"


def _cell(name: str, row: Mapping[str, str], reasons: dict[str, int]) -> str:
    if not row:
        return _NOT_RUN
    reason = re.sub(rf"\b{re.escape(name)}\b", "it", row["reason"])
    reason_text = without_places(reason) if row["status"] != "ok" else ""
    if not reason_text:
        return row["status"]
    return f"{row['status']} [{reasons.setdefault(reason_text, len(reasons) + 1)}](#reasons)"


def without_places(reason: str) -> str:
    """The kind of a reason on one line, safe in Markdown: without folders of this machine, names
    of a graph and what to do."""
    bare = re.sub(r"(?<![\w.])/(?:[\w.+-]+/)+", "", reason)
    bare = re.sub(r"'[^']*'", "'…'", bare)
    bare = re.sub(r"( in node '…')?: (?:use|measure|give) [^:]*$", "", bare)
    return re.sub(r"([|<>*_`\[\]])", r"\\\1", " ".join(bare.split()))


_FOLDER = Path(__file__).parent
_FACTORIES = {"hugging_face.py": "transformers", "image_nets.py": "torchvision, timm"}
_BY_TIMM = "_of_timm"


@dataclass(frozen=True, slots=True)
class Network:
    """`factory` is `path/file.py:function`, empty for a fitted estimator."""

    name: str
    source: str
    factory: str = ""


def networks() -> tuple[Network, ...]:
    """All of them, in the order of the table."""
    return (*_factory_networks(), *_fitted_networks())


def _factory_networks() -> Iterator[Network]:
    for file, source in _FACTORIES.items():
        path = _FOLDER / file
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                yield Network(node.name, _source(source, node), f"{path}:{node.name}")


def _source(source: str, function: ast.FunctionDef) -> str:
    both = source.split(", ")
    by_timm = any(isinstance(n, ast.Name) and n.id == _BY_TIMM for n in ast.walk(function))
    return both[-1] if by_timm else both[0]


def _fitted_networks() -> Iterator[Network]:
    for name in ESTIMATORS:
        yield Network(name, "xgboost" if name.startswith("xgboost") else "scikit-learn")
