"""The process that checks: `python -m app.workers.checking`, one runtime, many cases, none run.

It serves one `CheckJob` line after another, so that an engine is imported once; a case that
crashes it is the only one that it takes along. Nothing is timed but how long compiling took.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from app.cases.jobs import CheckJob
from app.cases.round import RoundResult
from app.workers.execution_facts import engine_facts, execution_fields, precision_diagnostics
from app.workers.process import prepare, reason_of, unforeseen
from exporters.codec import from_json, to_json
from exporters.install_layout import requests_and_replies
from exporters.types import ExportedModel, GraphlapError
from runtimes import registry
from runtimes.base import Checked, Unavailable
from runtimes.errors import NotAvailable
from runtimes.options import all_options
from runtimes.session.precision import refuse_wider
from runtimes.session.session_group import check_availability, check_sessions, options_on

_RUN_FACTS = frozenset({"cycles", "io_us"})
"""What a simulated card's compiler tells of runs: a check has no time that could be ranked."""
STOPPED_AT = "refused_node"


def main() -> None:
    """Serve until standard input ends."""
    requests, reply = requests_and_replies()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is the parent's to handle
    for line in requests:
        job = from_json(CheckJob, json.loads(line))
        # The last that it says, if an engine ends it without a word of its own.
        sys.stderr.write(f"while it checked {job.case.model} on {job.case.runtime}\n")
        sys.stderr.flush()
        reply(to_json(answer(job)))
    os._exit(0)  # engines' exit handlers can crash or hang after all is said


def answer(job: CheckJob) -> RoundResult:
    """How far the case came; every failure is a result with its reason and its node."""
    base_result = RoundResult(
        case_id=job.case.case_id,
        round=0,
        status="compiles",
        started_at_utc=datetime.now(UTC).isoformat(timespec="milliseconds"),
    )
    try:
        return replace(base_result, **_compile_case(job))
    except GraphlapError as error:
        node = getattr(error, "node", "")
        return replace(
            base_result,
            status=error.status or "compile_failed",  # type: ignore[arg-type]
            reason=reason_of(error),
            facts={STOPPED_AT: node} if node else {},
        )
    except MemoryError:
        reason = "the host ran out of memory in compile: use a smaller batch"
        return replace(base_result, status="out_of_memory", reason=reason)
    except Exception as error:
        reason = f"compile failed with {unforeseen(error)}"
        return replace(base_result, status="compile_failed", reason=reason)


def _compile_case(job: CheckJob) -> dict[str, Any]:
    """The fields of the result of a case that compiles, be it in part."""
    spec = registry.parse_spec(job.case.runtime)
    runtime = registry.load(spec.name)
    prepare(runtime, job.settings)
    state = check_availability(runtime, spec.device)
    if isinstance(state, Unavailable):
        raise NotAvailable(state.reason, state.remedy)
    model = job.model.at(job.case.axes)
    runtime.load()
    engine = engine_facts(runtime)
    start_ns = time.perf_counter_ns()
    check_result = check_sessions(runtime, model, model.axes, job.settings)
    spent_ms = (time.perf_counter_ns() - start_ns) / 1e6
    fields = _compiled_fields(job, model, check_result)
    if check_result.execution is not None:
        spent_ms -= check_result.execution.inspection_ms
    return fields | {
        **engine,
        "phases_ms": {"compile": spent_ms},
        "runtime_version": state.version,
        "options": all_options(options_on(runtime, spec.device), job.case.options),
    }


def _compiled_fields(job: CheckJob, model: ExportedModel, check_result: Checked) -> dict[str, Any]:
    """What was made, and of a session that was opened what really would run."""
    build_facts: dict[str, Any] = {"check_level": check_result.checked_as}
    if check_result.plan_bytes is not None:
        build_facts["engine_size_mib"] = check_result.plan_bytes / 2**20
    execution = check_result.execution
    if execution is None:
        return {"facts": build_facts}
    if execution.clock != "simulated":  # a card has one precision, and says so
        refuse_wider(model.precision, execution.precision, job.case.runtime)
    fields = execution_fields(execution)
    facts = {name: fact for name, fact in fields["facts"].items() if name not in _RUN_FACTS}
    # An engine that counts a whole process counts the cases before this one too.
    peak = None if check_result.memory.of_process else check_result.memory.device_peak_bytes
    return fields | {
        "call_path": "",
        "facts": facts | build_facts,
        "warnings": (*execution.warnings, *precision_diagnostics(model, execution)),
        "device_memory_peak_mb": None if peak is None else peak / 2**20,
    }


if __name__ == "__main__":
    main()
