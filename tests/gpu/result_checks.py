"""Checks of what a runtime's runs compute: precision, outputs, replays, threads, little memory."""

from __future__ import annotations

import numpy as np

from app.workers.loop import LaneThreads
from runtimes.base import Session
from runtimes.errors import OutOfMemory, RuntimeFault
from runtimes.options import Settings
from tests.gpu.models import Model
from tests.gpu.subject import Finding, NotRun, Options, Subject, largest_difference

TOLERANCE = 1e-4
TF32_ERROR = 1e-4
"""Of the chain: fp32 leaves about 1e-5 of the result, operands of 10 bits about 1e-3."""
REFERENCE_ROWS = 8
THREAD_RUNS = 20


def difference_finding(difference: float) -> Finding:
    return Finding(f"differs by {difference:.1e}", f"< {TOLERANCE:g}", difference < TOLERANCE)


def precision_is_as_stated(subject: Subject, options: Options) -> Finding:
    """fp32 unless TF32 is allowed: by what the session states, by error and by time."""
    limits = subject.device.limits()
    is_tf32_allowed = bool(options["tf32"])
    if is_tf32_allowed and limits.tf32_flop_per_s is None:
        raise NotRun("this GPU has no TF32")
    model = subject.models.chain
    session = subject.session(model, options)
    run_ns = subject.median_ns(session.lanes[0].run)
    rows = session.lanes[0].outputs()["y"][:REFERENCE_ROWS].astype(np.float64)
    exact = subject.models.chain_rows(REFERENCE_ROWS)
    error = float(np.linalg.norm(rows - exact) / np.linalg.norm(exact))
    precision = session.execution.precision
    result_text = f"{precision}, error {error:.1e}, {run_ns / 1e6:.3f} ms"
    if not is_tf32_allowed:
        is_passed = precision == "fp32" and error < TF32_ERROR
        return Finding(result_text, f"fp32, < {TF32_ERROR:g}", is_passed)
    if limits.fp32_flop_per_s is None:
        raise NotRun("the peak arithmetic of this GPU is not known")
    most_ns = model.flop / limits.fp32_flop_per_s * 1e9
    is_passed = precision == "tf32" and error > TF32_ERROR and run_ns < most_ns
    return Finding(result_text, f"tf32, > {TF32_ERROR:g}, < {most_ns / 1e6:.3f} ms", is_passed)


def outputs_are_written(subject: Subject, options: Options) -> Finding:
    """Outputs that were overwritten are right again after the next run, twice."""
    model = subject.models.small
    lane = subject.lane(model, options)
    lane.run()
    worst = 0.0
    for _ in range(2):
        lane.poison()
        lane.run()
        worst = max(worst, _difference(lane.outputs(), model))
    return difference_finding(worst)


def replays_read_new_inputs(subject: Subject, options: Options) -> Finding:
    """A recorded graph computes on what was bound last. The graph of products is homogeneous:
    twice the input is twice the output."""
    model = subject.models.small
    lane = subject.lane(model, options)
    lane.run()
    worst = 0.0
    for factor in (2, 4, 1):
        lane.bind({name: array * np.float32(factor) for name, array in model.inputs.items()})
        lane.run()
        worst = max(worst, _difference(lane.outputs(), model, factor))
    return difference_finding(worst)


def threads_keep_apart(subject: Subject, options: Options) -> Finding:
    """Sessions that run at once, each in a thread, compute each on its own inputs."""
    model = subject.models.small
    subject.close()
    worst = 0.0
    with subject.compile(model, options) as session:
        for factor, lane in enumerate(session.lanes, 1):
            lane.enter()
            lane.bind({name: array * np.float32(factor) for name, array in model.inputs.items()})
        with LaneThreads(session.lanes) as crew:
            for _ in range(THREAD_RUNS):
                crew.run_all(lambda number: session.lanes[number].run())
        for factor, lane in enumerate(session.lanes, 1):
            lane.enter()
            worst = max(worst, _difference(lane.outputs(), model, factor))
    return difference_finding(worst)


def survives_no_memory(subject: Subject, options: Options) -> Finding:
    """Too large a model ends as `out_of_memory`, and a small one runs afterwards."""
    subject.close()
    model, sizes = subject.models.large, subject.models.sizes
    limited_runtime = subject.runtime.limited(
        "", Settings(options=dict(options)), sizes.limit_bytes
    )
    expected_text = f"out_of_memory, then < {TOLERANCE:g}"
    with limited_runtime:
        status = _status_of_run(subject, model, options)
    small = subject.models.small
    lane = subject.lane(small, options)
    lane.run()
    difference = _difference(lane.outputs(), small)
    is_passed = status == OutOfMemory.status and difference < TOLERANCE
    return Finding(f"{status}, then {difference:.1e}", expected_text, is_passed)


def _status_of_run(subject: Subject, model: Model, options: Options) -> str:
    session: Session | None = None
    try:
        session = subject.compile(model, options)
        session.lanes[0].bind(model.inputs)
        session.lanes[0].run()
    except RuntimeFault as fault:
        return fault.status
    except Exception as error:
        return session.fault(error).status if session is not None else type(error).__name__
    finally:
        if session is not None:
            session.close()
    return "ok"


def _difference(actual: dict[str, np.ndarray], model: Model, factor: int = 1) -> float:
    assert model.outputs is not None
    expected_outputs = {name: array * np.float32(factor) for name, array in model.outputs.items()}
    return largest_difference(actual, expected_outputs)
