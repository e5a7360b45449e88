"""Runtimes of a plan: the defaults of a sweep that names none, and named environments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from app.cases.errors import PlanError
from app.machine.installed_runtimes import asked, available_names, clock_of, interpreter, runtime
from app.machine.release_environments import ReleaseEnvironment, release_environments
from app.plan.configuration import configurations, user_file
from app.plan.plan import Plan
from app.plan.settings.sweep import Sweep
from exporters import install_layout
from exporters.types import FILE_ENDINGS
from runtimes.registry import environment_of

_TABLE = "environments"


def users_environments() -> dict[str, str]:
    """Name -> interpreter, from the user's files; PlanError for one that can't be understood."""
    return {
        name: python
        for file in reversed(configurations())
        for name, python in file.plan.get(_TABLE, {}).items()
    }


def environments_of(plan: Plan) -> dict[str, str]:
    """Name -> absolute path of the interpreter, of the environments that the plan's runtimes name.

    PlanError for a name that is not known, for one that nothing names, and for an interpreter in
    which no case can be measured.
    """
    texts = (text for sweep in plan.sweeps for text in sweep.runtimes)
    names = dict.fromkeys(filter(None, map(environment_of, texts)))
    for name in plan.environments:
        if name not in names:
            raise PlanError(
                f"no runtime is of the environment {name!r}",
                f"name one, as in ort-cpu@{name}, or leave the environment out",
            )
    paths = _environment_paths(plan, names)
    interpreters = {name: interpreter(paths[name]) for name in names}
    for name, python in interpreters.items():
        asked(name, python)
    return interpreters


def missing_releases(plan: Plan) -> tuple[ReleaseEnvironment, ...]:
    """The environments that runtimes of the plan name by a release, and that were not made yet or
    are gone; those of other interpreters are not among them."""
    known_environments = users_environments() | plan.environments
    return tuple(
        release
        for name, release in _releases(plan).items()
        if known_environments.get(name, release.python) == release.python and not release.exists
    )


def _releases(plan: Plan) -> dict[str, ReleaseEnvironment]:
    return release_environments(text for sweep in plan.sweeps for text in sweep.runtimes)


def _environment_paths(plan: Plan, names: Iterable[str]) -> Mapping[str, str]:
    """The plan's, where it lacks one the user's, and where he has none either that of a release;
    PlanError for a name of none of them."""
    plan_paths = plan.environments
    if all(name in plan_paths for name in names):
        return plan_paths
    releases = _releases(plan)
    paths = users_environments() | plan_paths
    for name in names:
        if name not in paths and name in releases:
            release = releases[name]
            if not release.exists:
                raise PlanError(
                    f"the environment {name!r} is not installed ({release.requirements[0]})",
                    f"Install it with {install_layout.PROGRAM} run … --install, or name an "
                    f"interpreter with --python {name}=PATH",
                )
            paths[name] = release.python
        elif name not in paths:
            path_text = f"known are {', '.join(paths)}" if paths else "none is known"
            raise PlanError(
                f"there is no environment called {name!r} ({path_text})",
                f"add --python {name}=PATH, or name it in {user_file()}",
            )
    return paths


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
