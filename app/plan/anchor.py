"""The anchor: a small fixed case that every pass measures, to show how the machine moves.

It is the same in all runs whatever their plans measure, so that two runs share a case that nobody
changed.
"""

from __future__ import annotations

from app.cases.case import Case

ANCHOR_MODEL = "mlp"
"""Of the catalogue: small, no file of the user's, and runs on every runtime."""


def is_anchor(case: Case, runtime: str) -> bool:
    """Whether this is the anchor of a plan that has it on this runtime."""
    if not runtime or case.model != ANCHOR_MODEL or case.runtime != runtime:
        return False
    plain = Case(case.model, case.runtime, axes=case.axes, host=case.host)
    return plain.identity_id == case.identity_id
