"""How far a search over options ends from the processor's int8 peak, in a sentence.

The peak is measured by a process with an engine in it, once for each host, and kept.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from app.cases.goal import Goal
from app.machine.available import clock_of, runtime
from app.machine.cores import usable_cores
from app.results import text
from app.results.run import Run
from app.results.tune_answer import TuneAnswer, TunesFound, described
from app.results.tuning import Tuned
from exporters import own
from exporters.codec import CodecError, from_json, to_json
from exporters.types import ExportedModel
from runtimes.registry import parse_spec

_INT8 = "int8"


@dataclass(frozen=True, slots=True)
class Int8Peak:
    """Multiply-accumulates in a second, who measured them, and whether others computed too."""

    macs_per_s: float
    how: str
    busy: bool = False


def with_peak(found: TunesFound, run: Run, kept_in: Path) -> TunesFound:
    """The answers, with a sentence where int8 on the host's processor was among what was searched,
    the search is over and the work of a run is known. Measures the peak, for two seconds, where a
    folder does not have it yet."""
    if not any(_may_tell(tuned, answer) for tuned, answer in found.searches):
        return found
    peak = peak_of_host(kept_in)
    if peak is None:
        return found
    searches = tuple(
        (tuned, _told(tuned, answer, found.goal, run, peak)) for tuned, answer in found.searches
    )
    return replace(found, searches=searches)


def peak_of_host(kept_in: Path) -> Int8Peak | None:
    """With as many threads as there are cores; what a busy machine gave is measured again when it
    is quiet. None where no engine that could measure it is installed."""
    threads = len(usable_cores())
    kept = kept_in / f"peak-int8-{socket.gethostname()}-{threads}.json"
    known, busy = _kept(kept), os.getloadavg()[0] > threads
    if known is not None and (busy or not known.busy):
        return known
    command = own.command("runtimes.ort.int8_peak", str(threads))
    try:
        done = subprocess.run(
            command,
            env=own.child_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        )
        found = from_json(Int8Peak, {**json.loads(done.stdout), "busy": busy})
    except (OSError, ValueError, subprocess.SubprocessError, CodecError):
        return known
    with suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(to_json(found)), "utf-8")
    return found


def _kept(path: Path) -> Int8Peak | None:
    try:
        return from_json(Int8Peak, json.loads(path.read_bytes()))
    except (OSError, ValueError, CodecError):
        return None


def _may_tell(tuned: Tuned, answer: TuneAnswer) -> bool:
    offered = {precision for some in tuned.space.precisions.values() for precision in some}
    spec = tuned.chosen.runtime
    on_host = clock_of(spec) == "wall" and not runtime(parse_spec(spec).name).accelerator
    return answer.over and bool(answer.rungs) and _INT8 in offered and on_host


def _told(tuned: Tuned, answer: TuneAnswer, goal: Goal, run: Run, peak: Int8Peak) -> TuneAnswer:
    step = next((r for r in answer.rungs if r.case_id == tuned.chosen.case_id), None)
    macs = _macs_per_input(run, tuned)
    if not _may_tell(tuned, answer) or step is None or not step.value or not macs:
        return answer
    if goal.rate:
        reached, when = macs[0] * step.value, ""
    else:
        reached, when = macs[0] * macs[1] * 1e6 / step.value, f" in its {goal.name}"
    busy = ", on a busy machine" if peak.busy else ""
    sentence = (
        f"{described(tuned.chosen)} computes {text.rate_text(reached, 'MAC')}{when}: "
        f"{text.share(reached / peak.macs_per_s)} of the int8 peak, "
        f"{text.rate_text(peak.macs_per_s, 'MAC')} by {peak.how}{busy}"
    )
    return replace(answer, sentences=(*answer.sentences, sentence))


def _macs_per_input(run: Run, tuned: Tuned) -> tuple[float, int] | None:
    """The work of one input, and how many inputs a run of the chosen case has; None where nobody
    counted it, or a size but the batch is another than it was counted at."""
    case = tuned.chosen
    known = (run.models.get((case.model, p)) for p in (case.precision, "fp32"))
    model = next((one for one in known if one is not None and one.macs), None)
    if model is None or model.macs is None:
        return None
    batch = model.batch if isinstance(model.batch, str) else ""
    if any(model.axes.get(name) != size for name, size in case.axes.items() if name != batch):
        return None
    return model.macs / _inputs(model, model.axes.get(batch)), _inputs(model, case.axes.get(batch))


def _inputs(model: ExportedModel, size: int | None) -> int:
    if size:
        return size
    return model.batch if isinstance(model.batch, int) else 1
