"""The steps of the optimisation history one by one, with the nearest case measured here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.analysis.comparison.measured_case import MeasuredCase
from app.analysis.comparison.published_figures import HistoryStep, history_steps
from app.cases.case import Case
from app.formatting import text
from app.machine.installed_runtimes import each_device_of
from app.present.console.scaling import throughput_tables
from app.present.document import Block, Column, Heading, Paragraph, Table, names, table
from app.present.studies.study import Found, Study, cell, figure
from app.stats.verdict import pair_rounds

RATE = "throughput_per_s"


def rate_cell(measurement: MeasuredCase | None) -> str:
    """A case's inputs in a second, or in a word why it has none."""
    return cell(measurement, RATE, text.rate_text)


PUBLISHED_COLUMNS = (
    Column("step", "published", is_name=True),
    *(Column(heading, "published") for heading in ("inputs/s", "times")),
)


def published(step: HistoryStep, previous_step: HistoryStep | None) -> tuple[str, str, str]:
    """A step of the history: its name, its figure as printed, times that of the one before."""
    more = times(step.inputs_per_s, None if previous_step is None else previous_step.inputs_per_s)
    return step.step, f"{step.inputs_per_s:g}", more


def gain(base: MeasuredCase | None, result: MeasuredCase | None) -> str:
    """How many times as much the second has, with the 95 % interval from pairs of rounds, or how
    few there are; "" where one of the two has no figure."""
    rates = figure(base, RATE), figure(result, RATE)
    gain_text = times(rates[1], rates[0])
    if not gain_text or base is None or result is None:
        return gain_text
    pairs = pair_rounds(_inputs_per_s(base), _inputs_per_s(result))
    ends = pairs.ratio_interval()
    if ends is None:
        return f"{gain_text} ({text.counted(len(pairs.first), 'round')})"
    if text.is_too_noisy(ends.low, ends.high):
        return f"{gain_text} ({text.TOO_NOISY})"
    return f"{gain_text} ({text.significant(ends.low)} to {text.significant(ends.high)})"


def _inputs_per_s(case: MeasuredCase) -> dict[int, float]:
    """By the number of the round."""
    batch = case.case.axes.get("batch", 1)
    return {number: rate * batch for number, rate in case.rates.items()}


def times(result: float | None, base: float | None) -> str:
    """How many times as much, "" where one of the two is not there."""
    return "" if not result or not base else f"{text.significant(result / base)}"


_FIRST = "ort-cpu"
"""The runtime on which one thing at a time is changed."""
_MOST = 32
_REPLICAS = 2


@dataclass(frozen=True, slots=True)
class _StepResult:
    """What is nearest to a published step on this machine: a case, and the one before it."""

    what: str
    before: MeasuredCase | None
    after: MeasuredCase | None


def tables(results: Found) -> Iterator[Block]:
    """The history with what is nearest, then batches, replicas and devices of this machine."""
    yield Heading("Step by step")
    yield Paragraph(
        "Left: the published history, on other machines and with other code, each step on top of "
        f"the steps before. Right: the nearest equivalent here, on {_FIRST} unless stated, each "
        "step alone: from, to, and the gain with its 95 % interval from pairs of rounds. An "
        "interval takes three rounds. With fewer, their number is shown, and the gain may be the "
        "machine's."
    )
    yield _comparison_table(results)
    yield Heading("Throughput by batch size (inputs/s, one thread)")
    yield _by_batch(results)
    yield Heading("Replicas")
    yield Paragraph(
        "Sessions with one thread each share the work. Throughput is all inputs over the time from "
        "the first start to the last end. Efficiency is the speedup over the number of replicas, "
        "with its 95 % interval from pairs of rounds."
    )
    yield Paragraph(_several_devices(results))
    yield _replicas(results)
    if results.together:
        yield Heading("Hosts")
        yield from throughput_tables(results.together)
    yield Heading("Devices")
    yield _devices(results)


def _comparison_table(found: Found) -> Table:
    steps, here = history_steps(), _nearest(found)
    rows = []
    for number, step in enumerate(steps):
        before = steps[number - 1] if number else None
        near = here.get(step.step)
        own: tuple[str, ...] = ("", "", "", "")
        if near is not None:
            more = gain(near.before, near.after)
            own = (near.what, rate_cell(near.before), rate_cell(near.after), more)
        rows.append((*published(step, before), *own))
    here_columns = (Column(heading, "here") for heading in ("from", "to", "times"))
    nearest = Column("nearest to it", "here", is_name=True)
    return table((*PUBLISHED_COLUMNS, nearest, *here_columns), rows)


def _nearest(results: Found) -> dict[str, _StepResult]:
    """By the published step."""
    alone = _find_measurement(results, _FIRST)
    best = _best(_find_measurement(results, name) for name in _runtimes(results))
    single, several = (
        _find_measurement(results, _FIRST, scenario="offline", **options)
        for options in ({}, {"sessions": _REPLICAS})
    )
    return {
        "Baseline": _StepResult("one input at a time on one thread", None, alone),
        "Synchronous offload": _StepResult(
            f"{_REPLICAS} replicas share the inputs", single, several
        ),
        "Naively batched computation": _StepResult(
            f"{_MOST} inputs in a run", alone, _find_measurement(results, _FIRST, batch=_MOST)
        ),
        "Naive CUDA conv1d": _fastest_engine(alone, best),
        "Replace every conv1d with conv1d_kernel, fuse relu": _StepResult(
            "operators fused: graph_optimization from off to all",
            _find_measurement(results, _FIRST, graph_optimization="off"),
            alone,
        ),
        "Use multiple GPUs": _multiple(results) or _replicas_here(results),
        "Naive CUDA linear": _all_together(results, alone),
    }


def _best(measurements: Iterable[MeasuredCase | None]) -> MeasuredCase | None:
    """The one with the most inputs a second; None where none has a figure."""
    rated = [item for item in measurements if item is not None and figure(item, RATE)]
    return max(rated, key=lambda item: figure(item, RATE) or 0.0, default=None)


def _fastest_engine(alone: MeasuredCase | None, best: MeasuredCase | None) -> _StepResult:
    if best is None:
        return _StepResult("the fastest engine", alone, None)
    if best is alone:
        return _StepResult(f"no engine here is faster than {_FIRST}", None, best)
    return _StepResult(f"the fastest engine, {best.case.runtime}", alone, best)


def _multiple(results: Found) -> _StepResult | None:
    """Of the runtimes whose sessions were dealt over several devices, the fastest; None of none."""
    best = _best(item for item in results.measured if _count(item))
    if best is None:
        return None
    description = f"{_count(best)} devices share the inputs, {best.case.runtime}"
    base_id = best.row["scaling_baseline_case_id"]
    return _StepResult(description, results.one(lambda case: case.case_id == base_id), best)


def _replicas_here(results: Found) -> _StepResult:
    """Without several devices: the runtime and the number of replicas with the most inputs."""
    best = _best(
        results.such(lambda case: case.scenario.kind == "offline" and "sessions" in case.options)
    )
    if best is None:
        return _StepResult("replicas", None, None)
    description = f"{best.case.options['sessions']} replicas on one device, {best.case.runtime}"
    return _StepResult(
        description, _find_measurement(results, best.case.runtime, scenario="offline"), best
    )


def _all_together(results: Found, alone: MeasuredCase | None) -> _StepResult:
    """The last step stands on all before it: the best of all that was measured."""
    best = _best(results.measured)
    if best is None:
        return _StepResult("the best of all", alone, None)
    description = f"the best of all: {best.case.runtime}, {_settings(best.case)}"
    return _StepResult(description, None if best is alone else alone, best)


def _count(measurement: MeasuredCase) -> int:
    """Over how many devices its sessions are dealt, 0 where that is one."""
    devices = len(each_device_of(measurement.case.runtime))
    return devices if devices > 1 else 0


def _several_devices(results: Found) -> str:
    """What was there to deal sessions over."""
    runtimes = dict.fromkeys(
        measurement.case.runtime for measurement in results.measured if _count(measurement)
    )
    if not runtimes:
        return "No runtime of this run has several devices, so all sessions are on one."
    return f"Over several devices, the efficiency against the first of them: {', '.join(runtimes)}."


def _by_batch(results: Found) -> Table:
    closed_cases = list(results.such(lambda case: case.scenario.kind == "closed_loop"))
    runtimes = list(dict.fromkeys(measurement.case.runtime for measurement in closed_cases))
    sizes = sorted({measurement.case.axes.get("batch", 1) for measurement in closed_cases})
    rows = []
    for batch in sizes:
        measurements = (_find_measurement(results, name, batch=batch) for name in runtimes)
        rows.append((str(batch), *map(rate_cell, measurements)))
    return table(map(Column, ("batch", *runtimes)), rows)


def _replicas(results: Found) -> Table:
    rows = []
    for measurement in results.such(lambda case: case.scenario.kind == "offline"):
        low, high = (figure(measurement, f"scaling_efficiency_ci_{end}") for end in ("low", "high"))
        count = int(measurement.case.options.get("sessions", _count(measurement) or 1))
        speedup = figure(measurement, "speedup")
        rows.append(
            (
                measurement.case.runtime,
                str(count),
                rate_cell(measurement),
                "" if speedup is None else text.significant(speedup),
                "" if count == 1 else cell(measurement, "scaling_efficiency", _percent),
                "" if low is None or high is None else f"{_percent(low)} to {_percent(high)}",
            )
        )
    headings = ("replicas", "inputs/s", "speedup", "efficiency", "95 % interval")
    return table((*names("runtime"), *map(Column, headings)), rows)


def _devices(results: Found) -> Table:
    """Of each runtime the case with the most inputs a second."""
    rows = []
    for name in _runtimes(results):
        best = _best(results.such(lambda case, name=name: case.runtime == name))  # type: ignore[misc]
        if best is not None:
            device = str(best.row["device_name"] or "")
            rows.append((name, device, _settings(best.case), rate_cell(best)))
    titles = names("runtime", "device", "its best here")
    return table((*titles, Column("inputs/s")), rows)


def _settings(case: Case) -> str:
    threads = text.counted(case.threads, "thread") if case.threads else "auto threads"
    options = [f"{name}={value}" for name, value in sorted(case.options.items())]
    return ", ".join([f"batch {case.axes.get('batch', 1)}", threads, case.scenario.words, *options])


def _runtimes(results: Found) -> Sequence[str]:
    return list(dict.fromkeys(measurement.case.runtime for measurement in results.measured))


def _find_measurement(
    found: Found,
    runtime: str,
    batch: int = 1,
    threads: int = 1,
    scenario: str = "closed_loop",
    **options: object,
) -> MeasuredCase | None:
    return found.one(
        lambda case: (
            (case.runtime, case.threads, case.scenario.kind) == (runtime, threads, scenario)
            and case.axes.get("batch", 1) == batch
            and dict(case.options) == options
        )
    )


def _percent(share: float | None) -> str:
    return text.NOT_MEASURED if share is None else f"{share:.0%}"


STUDY = Study(
    name="char-cnn/steps",
    title="One step at a time",
    repeats=(
        "The history made a character-level CNN 343 times faster, from 2.12 to 727.2 inputs a "
        "second, by code written for it. Here runtimes are chosen, not written."
    ),
    tables=tables,
    one_host=True,
)
