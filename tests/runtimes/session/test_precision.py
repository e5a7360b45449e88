"""A precision that an engine does not execute ends as a row without a latency."""

from __future__ import annotations

import pytest

from exporters.types import Precision
from runtimes.errors import Unsupported
from runtimes.session.precision import refuse_wider


@pytest.mark.parametrize(
    ("asked", "executed"), [("int8", "fp32"), ("int8", "fp16"), ("fp16", "fp32"), ("fp16", "bf16")]
)
def test_what_runs_in_a_wider_type_than_asked_is_refused(asked: Precision, executed: str) -> None:
    with pytest.raises(Unsupported, match=f"of this {asked} graph in {executed}.*another runtime"):
        refuse_wider(asked, executed, "an engine")


@pytest.mark.parametrize(
    ("asked", "executed"),
    [
        ("int8", "int8"),
        ("fp16", "fp16"),
        ("fp32", "fp32"),
        ("fp32", "int8"),  # a user's quantised graph, taken as it is
        ("fp32", "fp64"),  # a user's graph in doubles
        ("fp32", "tf32"),
        ("int8", "unknown"),
    ],
)
def test_what_runs_as_asked_or_is_the_graphs_own_type_is_measured(
    asked: Precision, executed: str
) -> None:
    refuse_wider(asked, executed, "an engine")
