"""Why a case can't be measured on any host of a cluster, known before anything is exported."""

from __future__ import annotations

from collections.abc import Sequence

from app.cases.case import Case
from app.cases.status import Status
from app.machine.available import runtime
from app.sweep.sources.rounds import as_status
from app.sweep.sources.site import There
from exporters.factory_file import is_factory_file, is_hugging_face
from runtimes.base import Unavailable
from runtimes.faults import RuntimeFault
from runtimes.registry import parse_spec


def refused_everywhere(
    case: Case, sites: Sequence[There], send_code: bool
) -> tuple[Status, str] | None:
    """The status and the reason, in one sentence; None for a case that some host can measure."""
    name = parse_spec(case.runtime).name
    engine = runtime(name)
    try:
        engine.refuse_precision(case.precision)
    except RuntimeFault as fault:
        return as_status(fault.status), str(fault)
    if engine.builds_module and (reason := _of_code(case, send_code)):
        return "unsupported", f"{name} {reason}"
    hosts = [site for site in sites if case.host in ("", site.host.name)]
    if not hosts:
        return "cancelled", f"{case.host} is not in the cluster: resume the run when it is there"
    states = {site.host.name: site.availability(case.runtime) for site in hosts}
    missing = {host: s for host, s in states.items() if isinstance(s, Unavailable)}
    if len(missing) < len(states):
        return None
    told = "; ".join(f"{host}: {state.reason}" for host, state in missing.items())
    remedy = next(iter(missing.values())).remedy
    return "unavailable", f"no host has {case.runtime} ({told}): {remedy}"


def _of_code(case: Case, send_code: bool) -> str:
    """Why a module can't be built on another machine; empty if it can."""
    for model in (case.model, case.condition.model):
        if is_hugging_face(model):
            return f"builds {model} from a folder of this machine: remove it from --runtimes"
        if is_factory_file(model) and not send_code:
            return (
                f"would run {model} on other machines: add --send-code, or remove it from "
                "--runtimes"
            )
    return ""
