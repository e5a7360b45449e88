"""The results table with 5,000 rows: what sorting, filtering, grouping and live updates cost.

Each figure is the median of the acts, painted, in milliseconds: 33 are thirty frames a second. The
processor's time is told beside the clock's, which on a busy machine is others' too.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QApplication

from app.gui.look.style_sheet import apply_theme, prepare_application
from app.gui.tables.columns import COLUMNS
from app.gui.tables.results import ResultsTable
from app.plot_data.series import Series
from tests.app.gui.synthetic import case_of, series

ROWS = 5_000
P50 = next(k for k, column in enumerate(COLUMNS) if column.key == "latency_p50_us")
RUNTIMES = ("ort-cpu", "openvino-cpu", "torch-cpu", "fake")


def main() -> None:
    """Print a line for each act."""
    app = QApplication.instance() or QApplication([])
    prepare_application()
    apply_theme("light")
    table = ResultsTable()
    table.resize(1280, 800)
    table.show()
    cases = _cases(np.random.default_rng(1))
    table_rows = [cases]

    def measured_anew() -> None:
        """A round more of one case, as each second of a run brings it."""
        place = len(table_rows[0]) // 2
        row = {**table_rows[0][place].row, "latency_p50_us": 20.0 + time.perf_counter() % 1.0}
        table_rows[0] = [*table_rows[0]]
        table_rows[0][place] = replace(table_rows[0][place], row=row)
        table.set_series(table_rows[0])

    bar, orders = table.view.verticalScrollBar(), [Qt.SortOrder.AscendingOrder]

    def sort() -> None:
        orders[0] = (
            Qt.SortOrder.DescendingOrder
            if orders[0] == Qt.SortOrder.AscendingOrder
            else Qt.SortOrder.AscendingOrder
        )
        table.view.sortByColumn(P50, orders[0])

    def scroll() -> None:
        bar.setValue((bar.value() + bar.maximum() // 100) % bar.maximum())

    def type_texts(texts: Sequence[str]) -> Callable[[], None]:
        left = list(texts) * 10

        def act() -> None:
            table.filter_box.setText(left.pop())

        return act

    acts: dict[str, Callable[[], None]] = {
        "first shown": lambda: table.set_series(cases),
        "one row anew": measured_anew,
        "scrolled": scroll,
        "sorted by p50": sort,
        "one row anew, sorted": measured_anew,
        "filtered by a word": type_texts(("openvino", "")),
        "filtered by p50 and an option": type_texts(("p50>100 mode=3", "")),
        "grouped, and not": lambda: table.group_choice.choose(
            "" if table.group_choice.value else "threads"
        ),
        "all selected": table.view.selectAll,
    }
    for name, act in acts.items():
        durations = [
            _time_action(act, table, app) for _ in range(1 if name == "first shown" else 9)
        ]
        wall, cpu = (
            1e3 * statistics.median(clock_times) for clock_times in zip(*durations, strict=True)
        )
        worst = 1e3 * max(cpu for _, cpu in durations)
        print(f"{name}: {wall:.1f} ms, of the processor {cpu:.1f} ms, at worst {worst:.1f}")
    table.close()


def _time_action(
    act: Callable[[], object], table: ResultsTable, app: QCoreApplication
) -> tuple[float, float]:
    begun, used = time.perf_counter(), time.process_time()
    act()
    app.processEvents()
    return time.perf_counter() - begun, time.process_time() - used


def _cases(rng: np.random.Generator) -> list[Series]:
    """Models, runtimes, batches, threads and an option, each with figures of its own."""
    item = series(rounds=1, count=400)
    cases = []
    for k in range(ROWS):
        model, runtime = f"model_{k // 250}", RUNTIMES[k % 4]
        settings = {"batch_size": 2 ** (k // 4 % 6), "threads": 1 + k // 24 % 4}
        p50 = float(rng.lognormal(4.0, 1.0))
        row = {**settings, "options": f"mode={k // 96 % 5}", "latency_p50_us": p50}
        ends = {"latency_p50_ci_low_us": 0.95 * p50, "latency_p50_ci_high_us": 1.05 * p50}
        row |= ends | {"latency_p99_us": 3.0 * p50, "throughput_per_s": 1e6 / p50}
        names = {"model": model, "runtime": runtime, "precision": "fp32", "status": "ok"}
        case = case_of(model, runtime, row)
        case_row = {**row, **names, "clock": "wall"}
        cases.append(
            replace(
                item,
                key=str(k),
                case=case,
                model=model,
                runtime=runtime,
                row=case_row,
                summary=None,
            )
        )
    return cases


if __name__ == "__main__":
    main()
