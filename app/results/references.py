"""What a case's rounds say of their references: which there are, which agree, which do not."""

from __future__ import annotations

from collections.abc import Sequence

from app.cases.column import Row
from app.cases.round import Check
from app.results import text
from app.results.cells import joined
from app.results.plain import one_line
from exporters.types import Disagreement


def reference_columns(checks: Sequence[Check], check: Check) -> Row:
    """Of all checks of a case; `check` is the one that its errors are of.

    Rounds of earlier versions know one reference, and nothing of how many there were.
    """
    values: Row = {"reference": check.reference}
    known = [one for one in checks if one.references]
    if not known:
        return values
    agreeing = [
        name for name in known[0].agrees_with if all(name in one.agrees_with for one in known)
    ]
    without = [f"{name} ({why})" for name, why in check.missing.items()]
    return values | {
        "references": one_line(", without ".join([", ".join(check.references), *without])),
        "agreeing_references": ", ".join(agreeing) or None,
        "only_own_reference": any(one.only_own for one in known),
        "reference_disagreement": joined(one_line(_sentence(one)) for one in check.disagreements),
    }


def _sentence(found: Disagreement) -> str:
    """`onnx and onnxruntime unoptimised: output 'y' by 0.8 of its largest value, first at …`."""
    what = f"{found.first} and {found.second}: output {found.output!r}"
    if found.unequal is not None:
        what = f"{what} in {text.share(found.unequal)} of its elements"
    elif found.relative is not None:
        what = f"{what} by {found.relative:.2g} of its largest value"
    else:
        what = f"{what} in its shape, or in where it is NaN or infinite"
    if found.node:
        what = f"{what}, first at node {found.node!r} ({found.operator})"
    elif found.no_node:
        what = f"{what}, at an unknown node ({found.no_node})"
    return what
