"""`graphlap.runtime`: what a package imports to bring a runtime of its own.

The contract itself, in `Runtime`, `Session` and `Lane`, and all that they take, give and raise.
`HostLane` is a lane whose buffers are numpy arrays; numpy is all that this module imports.
"""

from __future__ import annotations

from exporters.types import (
    ExportedModel,
    GraphlapError,
    Precision,
    Reference,
    StatePair,
    TensorSpec,
)
from runtimes.base import (
    Arrays,
    Availability,
    Available,
    Checked,
    Device,
    DeviceEviction,
    DevicePeak,
    Lane,
    Runtime,
    Session,
    Unavailable,
)
from runtimes.calls import Call, Copy
from runtimes.errors import (
    CompileFault,
    NotAvailable,
    OutOfMemory,
    RunFault,
    RuntimeFault,
    Unsupported,
)
from runtimes.execution import (
    AfterCompletion,
    Arrivals,
    Execution,
    Memory,
    NodePlacement,
    OpTime,
    Queries,
    Samples,
    Scheduled,
    Spans,
)
from runtimes.options import SESSIONS, Option, OptionValue, Request, Settings, Usage, Used
from runtimes.session.host import HostLane, aligned_empty, input_buffers

__all__ = [
    "SESSIONS",
    "AfterCompletion",
    "Arrays",
    "Arrivals",
    "Availability",
    "Available",
    "Call",
    "Checked",
    "CompileFault",
    "Copy",
    "Device",
    "DeviceEviction",
    "DevicePeak",
    "Execution",
    "ExportedModel",
    "GraphlapError",
    "HostLane",
    "Lane",
    "Memory",
    "NodePlacement",
    "NotAvailable",
    "OpTime",
    "Option",
    "OptionValue",
    "OutOfMemory",
    "Precision",
    "Queries",
    "Reference",
    "Request",
    "RunFault",
    "Runtime",
    "RuntimeFault",
    "Samples",
    "Scheduled",
    "Session",
    "Settings",
    "Spans",
    "StatePair",
    "TensorSpec",
    "Unavailable",
    "Unsupported",
    "Usage",
    "Used",
    "aligned_empty",
    "input_buffers",
]
