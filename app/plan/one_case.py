"""One case of a run -> a plan that measures it alone, as long and as often as that run did."""

from __future__ import annotations

from typing import Any

from app.cases.axes import AXES
from app.cases.case import Case
from app.plan.plan import Plan, Sweep
from exporters.twins import is_null, original_of
from runtimes.registry import parse_spec

_OF_SEVERAL: dict[str, Any] = {"baseline": "", "aa": None, "budget_s": None}
"""What compares cases with each other, or shares time out among them."""
_SIZES = {"batch": "batch_size", "sequence": "sequence_length"}


def one_case(asked: Plan, case: Case) -> Plan:
    """`asked` is the plan of the run; a null twin is measured with the case that it belongs to."""
    words: dict[str, Any] = {
        axis.key: (_word(axis.key, getattr(case, axis.field)),) for axis in AXES
    }
    sizes = {} if case.batcher or case.condition.shapes else dict(case.axes)
    named: dict[str, Any] = {
        key: (sizes.pop(name),) for name, key in _SIZES.items() if name in sizes
    }
    runtime = parse_spec(case.runtime).name
    sweep = Sweep(
        models=(original_of(case.model),),
        runtimes=(case.runtime,),
        axes={name: (size,) for name, size in sizes.items()},
        options={f"{runtime}.{name}": (value,) for name, value in case.options.items()},
        wait_policy=case.wait_policy,
        **named,
        **words,
    )
    null = {"null": asked.null and is_null(case.model)}
    return asked.model_copy(update={"sweeps": (sweep,), **_OF_SEVERAL, **null})


def _word(key: str, value: Any) -> Any:
    """What a grid holds for what the case holds."""
    if value is None:
        return "none"
    return value if key in ("precisions", "threads") else str(value)
