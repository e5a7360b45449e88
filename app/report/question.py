"""What a page is about: its title, and the question that its run answers, in one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.console.answer.ended import EndedRun
from app.results.labels import model_labels
from app.results.measured import Measured
from app.results.rate_answer import kept

_MOST = 3
"""So many models or runtimes are named."""


def title(ended: EndedRun, hosts: Mapping[str, Mapping[str, Any]]) -> str:
    """Models and machine: `mlp and gru on AMD EPYC`."""
    return f"{models(ended.own)} {_machine(ended, hosts)}"


def question(ended: EndedRun) -> str:
    """What the plan asks."""
    plan, named, runtimes = ended.plan, models(ended.own), _runtimes(ended.own)
    is_one = len({one.row["model"] for one in ended.own}) == 1
    if plan.check:
        return f"{'Does' if is_one else 'Do'} {named} compile on {runtimes}?"
    if ended.is_imported:
        return f"What did other programs measure for {named}?"
    if ended.rates is not None:
        target = kept(ended.rates.target)
        return f"How many requests per second can be served at {target} ({named} on {runtimes})?"
    if ended.tunes is not None:
        return f"Which runtime and options give the best {ended.tunes.goal.name} for {named}?"
    if plan.largest_batch:
        return f"How large a batch of {named} runs on {runtimes}?"
    verb = "is" if is_one else "are"
    if plan.baseline:
        return f"{verb.capitalize()} {named} faster or slower than the baseline {plan.baseline}?"
    if len({one.case.runtime for one in ended.own}) > 1:
        return f"Which of {runtimes} runs {named} fastest?"
    return f"How fast {verb} {named} on {runtimes}?"


def models(measured: Sequence[Measured]) -> str:
    """`mlp, gru, net.onnx and 4 more models`."""
    names = dict.fromkeys(str(one.row["model"]) for one in measured)
    labels = model_labels(names)
    return _listed([labels[name] for name in names], "models")


def _runtimes(measured: Sequence[Measured]) -> str:
    return _listed(list(dict.fromkeys(one.case.runtime for one in measured)), "runtimes")


def _listed(names: Sequence[str], what: str) -> str:
    if not names:
        return f"no {what}"
    if len(names) > _MOST + 1:
        return f"{', '.join(names[:_MOST])} and {len(names) - _MOST} more {what}"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _machine(ended: EndedRun, hosts: Mapping[str, Mapping[str, Any]]) -> str:
    clocks = {one.row["clock"] for one in ended.own if one.row["clock"]}
    if ended.is_imported:
        return "as other programs measured"
    if clocks == {"simulated"}:
        return f"on {_runtimes(ended.own)}, simulated"
    if len(hosts) > 1:
        return f"on {len(hosts)} machines"
    host: Mapping[str, Any] = next(iter(hosts.values()), {})
    return f"on {host.get('cpu') or host.get('host') or 'an unknown machine'}"
