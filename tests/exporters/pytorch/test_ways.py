"""What a row says of an export that did not go the first way names what stood in that way."""

from __future__ import annotations

from exporters.diagnostics.catalogue import diagnostic
from exporters.pytorch.to_onnx import WAYS, Way, nearest, told
from exporters.types import ExportError

FAULTS = {way: ExportError(f"{way.exporter} {'fixed' if way.fixed else 'open'}") for way in WAYS}


def test_each_thing_that_was_done_is_told_with_its_own_cause() -> None:
    assert told(Way("new", False), {}) == ()
    sizes_finding = diagnostic("sizes_fixed", error="new open")
    assert told(Way("new", True), FAULTS) == (sizes_finding,)
    assert told(Way("old", True), FAULTS) == (
        sizes_finding,
        diagnostic("old_exporter", error="new fixed"),
    )


def test_a_module_that_no_way_takes_is_told_what_fails_at_one_size() -> None:
    """That a size is no axis is nothing to mend where the graph could have it baked in."""
    assert nearest(FAULTS).cause == "new fixed"
    assert nearest({Way("new", False): FAULTS[Way("new", False)]}).cause == "new open"
