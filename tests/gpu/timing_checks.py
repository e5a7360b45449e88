"""Checks of the times that a runtime's runs take: against waiting, physics, clocks and tools."""

from __future__ import annotations

import statistics

import numpy as np

from tests.gpu.models import Model
from tests.gpu.subject import Finding, NotRun, Options, Subject

WAIT_LIMIT_US = 100.0
CLOCK_SLACK = 0.98
"""Limits are the card's at its highest clock; its crystal and ours may differ by far less."""
EVENT_RATIO = (0.97, 1.10)
SAME_RATIO = (0.97, 1.03)
TOOL_RATIO = (0.95, 1.05)
ENERGY_RATIO = (0.85, 1.15)
ENERGY_S = 3.0
QUEUE_DEPTH = 8
SLEEP_SHARE, SPIN_SHARE = 0.5, 0.8


def ratio_finding(ratio: float, text: str, bounds: tuple[float, float]) -> Finding:
    low, high = bounds
    return Finding(f"{ratio:.3f} ({text})", f"{low:g} to {high:g}", low <= ratio <= high)


def has_waited(subject: Subject, options: Options) -> Finding:
    """A synchronise right after a run finds nothing left to wait for."""
    lane = subject.lane(subject.models.chain, options)
    lane.run()
    left_us = subject.left_us(lane.run)
    return Finding(f"{left_us:.1f} us", f"< {WAIT_LIMIT_US:g} us", left_us < WAIT_LIMIT_US)


def is_possible(subject: Subject, options: Options) -> Finding:
    """A run is not faster than the device's arithmetic and link allow."""
    return _possibility(subject, subject.models.chain, options)


def memory_is_possible(subject: Subject, options: Options) -> Finding:
    """Data too large for any cache move no faster than the device's memory allows."""
    return _possibility(subject, subject.models.large, options)


def _possibility(subject: Subject, model: Model, options: Options) -> Finding:
    run_ns = subject.median_ns(subject.lane(model, options).run)
    least_ns = CLOCK_SLACK * floor_ns(subject, model, options)
    return Finding(f"{run_ns / 1e6:.3f} ms", f">= {least_ns / 1e6:.3f} ms", run_ns >= least_ns)


def floor_ns(subject: Subject, model: Model, options: Options) -> float:
    """The least that a run can take; NotRun where the device's limits are not known."""
    limits = subject.device.limits()
    tf32 = bool(options.get("tf32"))
    peak = limits.tf32_flop_per_s if tf32 else limits.fp32_flop_per_s
    if peak is None:
        raise NotRun("the peak arithmetic of this GPU is not known")
    seconds = model.flop / peak
    if not model.flop:
        if limits.memory_bytes_per_s is None:
            raise NotRun("the bandwidth of this GPU's memory is not known")
        seconds = model.moved_bytes / limits.memory_bytes_per_s
    if options.get("boundary") == "host":
        seconds += link_ns(subject, model) / 1e9
    return seconds * 1e9


def link_ns(subject: Subject, model: Model) -> float:
    """The least that the copies in and out can take, one after the other."""
    bandwidth = subject.device.limits().link_bytes_per_s
    if bandwidth is None:
        raise NotRun("the bandwidth of the link to the GPU is not known")
    return model.moved_bytes / bandwidth * 1e9


def agrees_with_events(subject: Subject, options: Options) -> Finding:
    """The host's clock and the device's events tell the same time of a run."""
    session = subject.session(subject.models.chain, options)
    run_ns = subject.median_ns(session.lanes[0].run)
    spans = session.spans(10)
    if spans is None:
        raise NotRun("the runtime records no events")
    parts = [part for part in (spans.h2d_ns, spans.device_ns, spans.d2h_ns) if part is not None]
    device_ns = float(np.median(np.sum(parts, axis=0)))
    text = f"host {run_ns / 1e6:.3f} ms, events {device_ns / 1e6:.3f} ms"
    return ratio_finding(run_ns / device_ns, text, EVENT_RATIO)


def copies_are_counted(subject: Subject, options: Options) -> Finding:
    """Copies are within a run at the host's boundary, and outside at the device's."""
    model = subject.models.copied
    run_ns = subject.median_ns(subject.lane(model, options).run)
    copies_ns = CLOCK_SLACK * link_ns(subject, model)
    result_text, bound = f"{run_ns / 1e6:.3f} ms", f"{copies_ns / 1e6:.3f} ms"
    if options["boundary"] == "host":
        return Finding(result_text, f">= {bound}", run_ns >= copies_ns)
    return Finding(result_text, f"< {bound}", run_ns < copies_ns)


def waits_as_set(subject: Subject, options: Options) -> Finding:
    """The wait is the one that `sync` sets, read back and by the time on the core."""
    session = subject.session(subject.models.chain, options)
    lane, device = session.lanes[0], subject.device
    for _ in range(3):
        lane.run()
    begin_ns, begin_cpu_ns = device.now_ns(), device.cpu_ns()
    for _ in range(20):
        lane.run()
    share = (device.cpu_ns() - begin_cpu_ns) / (device.now_ns() - begin_ns)
    sync = str(session.execution.facts.get("sync", "not stated"))
    spins = options["sync"] == "spin"
    as_set = share > SPIN_SHARE if spins else share < SLEEP_SHARE
    expected_text = f"> {SPIN_SHARE:.0%}" if spins else f"< {SLEEP_SHARE:.0%}"
    return Finding(
        f"{sync}, {share:.0%} of the time on a core",
        f"{options['sync']}, {expected_text}",
        sync == options["sync"] and as_set,
    )


def queues_ahead(subject: Subject, options: Options) -> Finding:
    """Runs are queued without waiting, and all are complete after the wait for them."""
    lane = subject.lane(subject.models.chain, options)
    queue, wait = lane.enqueue, lane.synchronize
    if queue is None or wait is None:
        raise NotRun("the runtime queues no runs with these options")
    run_ns = subject.median_ns(lane.run)
    queue_ns = [0]

    def block() -> None:
        begin_ns = subject.device.now_ns()
        for _ in range(QUEUE_DEPTH):
            queue()
        queue_ns[0] = subject.device.now_ns() - begin_ns
        wait()

    block_ns = subject.median_ns(block, runs=5, warm=1)
    left_us = subject.left_us(block, tries=3)
    share, runs = queue_ns[0] / block_ns, block_ns / run_ns
    return Finding(
        f"queued in {share:.0%} of the time, {runs:.2f} runs long, {left_us:.1f} us left",
        f"< 50%, {QUEUE_DEPTH * 0.9:.2f} to {QUEUE_DEPTH * 1.1:.2f}, < {WAIT_LIMIT_US:g} us",
        share < 0.5 and QUEUE_DEPTH * 0.9 <= runs <= QUEUE_DEPTH * 1.1 and left_us < WAIT_LIMIT_US,
    )


def is_repeatable(subject: Subject, options: Options) -> Finding:
    """A/A: two sessions of one configuration, run in turn, take the same time."""
    model = subject.models.chain
    subject.close()
    with subject.compile(model, options) as first_session, subject.compile(model, options) as other:
        times: tuple[list[int], list[int]] = ([], [])
        for session in (first_session, other):
            session.lanes[0].enter()
            session.lanes[0].bind(model.inputs)
        for _ in range(4):
            for session, series in zip((first_session, other), times, strict=True):
                session.lanes[0].enter()
                series.extend(subject.times_ns(session.lanes[0].run, runs=8, warm=2))
    first, second = (statistics.median(series) for series in times)
    text = f"{first / 1e6:.3f} and {second / 1e6:.3f} ms"
    return ratio_finding(first / second, text, SAME_RATIO)


def energy_agrees(subject: Subject, options: Options) -> Finding:
    """The energy counter and the power that another program reads tell the same energy."""
    lane, device = subject.lane(subject.models.chain, options), subject.device
    for _ in range(20):
        lane.run()
    counted_j = device.energy_j()
    finish = device.power_log()
    begin_ns = device.now_ns()
    try:
        while device.now_ns() - begin_ns < ENERGY_S * 1e9:
            lane.run()
        seconds = (device.now_ns() - begin_ns) / 1e9
        counted_j = device.energy_j() - counted_j
    finally:
        watts = finish()
    if len(watts) < 10:
        raise NotRun(f"nvidia-smi told the power {len(watts)} times in {seconds:.0f} s")
    integral_j = statistics.fmean(watts) * seconds
    text = f"counter {counted_j:.0f} J, power over time {integral_j:.0f} J"
    return ratio_finding(counted_j / integral_j, text, ENERGY_RATIO)


def agrees_with_torch_benchmark(subject: Subject, options: Options) -> Finding:
    """torch.utils.benchmark tells the same time of the same products."""
    sizes = subject.models.sizes
    run_ns = subject.median_ns(subject.lane(subject.models.chain, options).run)
    other_ns = subject.device.torch_chain_ns(sizes.rows, sizes.width, sizes.layers)
    text = f"{run_ns / 1e6:.3f} ms, torch.utils.benchmark {other_ns / 1e6:.3f} ms"
    return ratio_finding(run_ns / other_ns, text, TOOL_RATIO)
