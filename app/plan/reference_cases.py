"""Cases that others are compared with: the baseline and the no-op model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from app.cases.case import Case
from app.cases.errors import PlanError, suggestion
from app.machine.installed_runtimes import runtime
from exporters.model_names import is_null, null_of
from exporters.types import InvalidValue
from runtimes import registry
from runtimes.registry import environment_of, parse_spec


def null_case(case: Case) -> Case:
    """The twin of a model's case; its id is made as the case's own is."""
    return replace(case, model=null_of(case.model))


@dataclass(frozen=True, slots=True)
class _Baseline:
    """`holds` tells the baseline's own cases, `strip` takes out of a case what may differ."""

    holds: Callable[[Case], bool]
    strip: Callable[[Case], Case]


def baselines(text: str, cases: Sequence[Case]) -> dict[str, Case]:
    """Case id -> the case that it is compared with; the baseline's own cases have none.

    Null twins have none either: they are there for what they are taken from.
    Where several of the baseline's cases fit one, as with options of a runtime that is the
    baseline, it is the first of the plan.
    """
    cases = [case for case in cases if not is_null(case.model)]
    baseline = _parse_baseline(text, cases)
    if baseline is None:
        return {}
    first: dict[str, Case] = {}
    candidates = []
    for case in cases:
        if baseline.holds(case):
            first.setdefault(baseline.strip(case).case_id, case)
        else:
            candidates.append((case.case_id, baseline.strip(case).case_id))
    return {case_id: first[rest] for case_id, rest in candidates if rest in first}


def unmatched(text: str, cases: Sequence[Case]) -> tuple[list[Case], list[Case]]:
    """The baseline's cases with which no other case is compared, and the other cases that are
    compared with none."""
    baseline = _parse_baseline(text, cases)
    if baseline is None:
        return [], list(cases)
    baseline_ids = {case.case_id for case in cases if baseline.holds(case)}
    baseline_by_id = baselines(text, cases)
    partners = {case.case_id for case in baseline_by_id.values()}
    rests = {baseline.strip(case).case_id for case in baseline_by_id.values()}
    unpaired_cases = [
        case
        for case in cases
        if case.case_id in baseline_ids
        and case.case_id not in partners
        and baseline.strip(case).case_id not in rests
    ]
    paired_ids = baseline_ids | baseline_by_id.keys()
    remaining = [case for case in cases if case.case_id not in paired_ids]
    return unpaired_cases, remaining


def reject_useless_baseline(text: str, cases: Sequence[Case]) -> None:
    """For a baseline that is no case, every case, or like none of the others."""
    baseline = _parse_baseline(text, cases)
    if baseline is None or not any(map(baseline.holds, cases)):
        names = dict.fromkeys(name for case in cases for name in (case.runtime, case.model))
        raise PlanError(f"the baseline {text!r} is no case of this plan", suggestion(text, names))
    if all(map(baseline.holds, cases)):
        raise PlanError(f"every case is of the baseline {text!r}", "add cases to compare with it")
    if not baselines(text, cases):
        raise PlanError(
            f"no case differs from the baseline {text!r} in that alone",
            "give both the same sizes, precision, threads and scenario",
        )


def _parse_baseline(text: str, cases: Sequence[Case]) -> _Baseline | None:
    """None for what names neither a runtime nor a model of these cases, nor an option's value."""
    if any(case.runtime == text for case in cases):
        # Options belong to a runtime, so another one can't share them.
        return _Baseline(
            lambda case: case.runtime == text, lambda case: replace(case, runtime="", options={})
        )
    if any(case.model == text for case in cases):
        return _Baseline(lambda case: case.model == text, lambda case: replace(case, model=""))
    return _environment_baseline(text[1:]) if text.startswith("@") else _option_baseline(text)


def _environment_baseline(name: str) -> _Baseline:
    """`@ort127`: each runtime is compared with the same one in this environment."""

    def remove_environment(case: Case) -> Case:
        environment = environment_of(case.runtime)
        return replace(case, runtime=case.runtime.removesuffix(f"@{environment}"))

    return _Baseline(lambda case: environment_of(case.runtime) == name, remove_environment)


def _option_baseline(text: str) -> _Baseline | None:
    """`ort-cpu.graph_optimization=all`: a default counts, though cases leave it out."""
    key, equals, word = text.partition("=")
    name, _, option_name = key.partition(".")
    known_options = runtime(name).options_for([option_name]) if name in registry.names() else ()
    option = next((candidate for candidate in known_options if candidate.name == option_name), None)
    if not equals or option is None:
        return None
    try:
        value = option.parse(word)
    except InvalidValue as error:
        cause = f"the baseline {text!r}: {error.cause}"
        raise PlanError(cause, error.remedy, "--baseline") from None

    def holds(case: Case) -> bool:
        current = case.options.get(option_name, option.default)
        return parse_spec(case.runtime).name == name and current == value

    def remove_option(case: Case) -> Case:
        rest = {n: value for n, value in case.options.items() if n != option_name}
        return replace(case, options=rest)

    return _Baseline(holds, remove_option)
