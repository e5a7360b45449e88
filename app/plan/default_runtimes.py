"""The runtimes of a sweep that names none: engines that are installed and can open its models."""

from __future__ import annotations

from collections.abc import Sequence

from app.cases.errors import PlanError
from app.machine.available import available_names, clock_of, runtime
from app.plan.plan import Plan, Sweep
from exporters.types import FILE_ENDINGS


def with_default_runtimes(plan: Plan) -> Plan:
    """The plan with runtimes in each sweep that has none; PlanError where nothing can open a model.

    A simulated card is no engine, and an engine that builds torch modules opens no .onnx file. A
    plan for other machines stays as it is: what they have is not known here.
    """
    if plan.cluster:
        return plan
    sweeps = [part for sweep in plan.sweeps for part in _with_runtimes(sweep)]
    return plan.model_copy(update={"sweeps": tuple(sweeps)})


def _with_runtimes(sweep: Sweep) -> Sequence[Sweep]:
    """The sweep, or one for files and one for torch modules, whose engines differ."""
    if sweep.runtimes:
        return [sweep]
    engines = [name for name in available_names() if clock_of(name) != "simulated"]
    openers = [name for name in engines if not runtime(name).builds_module]
    files = [model for model in sweep.models if model.endswith(FILE_ENDINGS)]
    modules = [model for model in sweep.models if not model.endswith(FILE_ENDINGS)]
    if openers == engines:
        files, modules = list(sweep.models), []
    parts = []
    for models, names in ((files, openers), (modules, engines)):
        if models and not names:
            raise PlanError(
                f"no engine that is installed here opens {models[0]}",
                "pip install 'graphlap[cpu]', or name a runtime with --runtimes",
            )
        if models:
            update = {"models": tuple(models), "runtimes": tuple(names)}
            parts.append(sweep.model_copy(update=update))
    return parts
