"""Opening an ONNX Runtime session that must have one provider, and saying why it has not.

ONNX Runtime prints why a library did not load, and goes on with the CPU; what it prints goes
to the standard error stream of C code.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from exporters import own
from runtimes.cuda import libraries
from runtimes.faults import NotAvailable
from runtimes.ort.opening import Opening, session_options
from runtimes.request import Request

if TYPE_CHECKING:
    import onnxruntime

Providers = list[tuple[str, dict[str, str]]]
"""In the order of preference, each with ONNX Runtime's own names of its options."""

_LOADER_WORDS = re.compile(r"Failed to load library \S+ with error: (?P<words>[^\n]+)")


def open_session(
    provider: str,
    request: Request,
    providers: Providers,
    recording: Path | None = None,
) -> onnxruntime.InferenceSession:
    """A session that has `provider`; NotAvailable with the loader's words if it does not."""
    import onnxruntime as ort

    from runtimes.ort.faults import compile_fault

    wanted = session_options(replace(Opening.of(request), recording=recording))
    session, failure = None, None
    with libraries.standard_error_captured() as said:
        try:
            # Without this ONNX Runtime tries again on the CPU after an error of the provider's.
            session = ort.InferenceSession(
                request.model.path, wanted, providers=providers, enable_fallback=0
            )
        except Exception as error:
            failure = error
    words = _LOADER_WORDS.search(said.text)
    if session is not None and provider in session.get_providers():
        said.release()
        return session
    if failure is None or words:
        cause = words["words"].strip() if words else (_last_error(said.text) or "no reason given")
        raise NotAvailable(
            f"ONNX Runtime did not load {provider} ({cause})",
            f"see {own.PROGRAM} doctor for what is missing",
        )
    said.release()
    raise compile_fault(failure) from failure


def _last_error(text: str) -> str:
    """The last line that the engine wrote, without its colours, time and source position."""
    lines = [line for line in re.sub(r"\x1b\[[\d;]*m", "", text).splitlines() if line.strip()]
    return re.sub(r"^.*?\[[EWF]:[^\]]*\] ", "", lines[-1]) if lines else ""
