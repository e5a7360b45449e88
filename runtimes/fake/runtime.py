"""A runtime that follows a script: chosen latencies on the real clock, chosen failures.

For tests and demonstrations, and always there. It computes nothing: its outputs are the
stored reference's, or wrong ones when told so.
"""

from __future__ import annotations

from exporters.types import axes_key
from runtimes.base import Availability, Available, Device, Runtime, Session
from runtimes.fake.lane import be_noisy, crash, hang
from runtimes.fake.session import DEVICES, FakeSession
from runtimes.faults import CompileFault, NotAvailable, Unsupported
from runtimes.options import SESSIONS, Option
from runtimes.request import Request

MOST_US = 1e9
"""Beyond a quarter of an hour no round would see a run end."""
OPTIONS = (
    Option("latency_us", 100.0, "the typical time of a run", minimum=0),
    Option("per_input_us", 0.0, "how much longer a run takes for each input of it", minimum=0),
    Option(
        "distribution",
        "constant",
        "how runs differ: not at all, normally, a fifth of them in a second mode, or exponentially",
        ("constant", "normal", "bimodal", "exponential"),
        tuned=False,
    ),
    Option(
        "spread_us",
        10.0,
        "the standard deviation, or how much later the second mode is",
        minimum=0,
        tuned=False,
    ),
    Option("slowing", 0.0, "by what share of its time a run grows each second", minimum=0),
    Option(
        "after_pause_us",
        0.0,
        "how much longer a run takes that begins over 5 ms after the last one ended",
        minimum=0,
    ),
    Option("stall_us", 0.0, "how much longer a run takes that stalls", minimum=0),
    Option(
        "stall_every",
        0,
        "of how many runs the last one stalls, again and again; 0 is never",
        minimum=0,
    ),
    Option(
        "queue",
        False,
        "runs can be queued, as on a GPU, and take their time one by one",
        tuned=False,
    ),
    Option("wait", "spin", "how a run passes its time", ("spin", "sleep"), tuned=False),
    Option(
        "fail",
        "none",
        "what goes wrong: before a session, in compiling, in a run, or when it is closed; noise is "
        "megabytes on standard error, and nothing else",
        (
            "none",
            "unavailable",
            "unsupported",
            "compile",
            "run",
            "oom",
            "wrong",
            "nan",
            "crash",
            "abort",
            "exit",
            "hang",
            "noise",
            "compile_crash",
            "compile_hang",
            "close_crash",
        ),
        tuned=False,
    ),
    Option("fail_after", 0, "how many runs succeed before the one that fails", minimum=0),
    Option(
        "fail_session",
        -1,
        "which of several sessions fails, counted from 0; -1 is all of them",
        minimum=-1,
        tuned=False,
    ),
    Option("seed", 0, "draws the latencies", minimum=0),
    SESSIONS,
)


class Fake(Runtime):
    """Scripted by its options; every other word of the contract it keeps."""

    name = "fake"
    summary = "scripted latencies and failures, for tests and demonstrations"
    options = OPTIONS
    precisions = ("fp32", "fp16", "int8")
    only_when_named = True

    def availability(self) -> Availability:
        return Available("1")

    def devices(self) -> tuple[Device, ...]:
        return tuple(Device(key, name) for key, name in DEVICES.items())

    def _refuse(self, request: Request) -> None:
        if request.options["fail"] == "unsupported":
            raise Unsupported("fake was set to refuse the graph", "use fail=none")
        for name, value in request.options.items():
            if name.endswith("_us") and float(value) > MOST_US:
                raise Unsupported(
                    f"fake.{name}={value:g} is longer than any round", f"give at most {MOST_US:g}"
                )

    def _compile(self, request: Request) -> Session:
        script = dict(request.options)
        if int(script["fail_session"]) not in (-1, FakeSession.open):
            script["fail"] = "none"
        if script["fail"] == "unavailable":
            raise NotAvailable("fake was set not to be there", "use fail=none")
        if script["fail"] == "compile":
            raise CompileFault("fake was set not to compile", "use fail=none")
        if script["fail"] == "compile_crash":
            crash()
        if script["fail"] == "compile_hang":
            hang()
        if script["fail"] == "noise":
            be_noisy()
        try:
            reference = request.reference()
        except (KeyError, OSError, ValueError) as error:
            raise CompileFault(
                f"fake has no reference outputs of {request.model.name} "
                f"at {axes_key(request.axes)}",
                "export the model for these axes",
            ) from error
        return FakeSession(request, reference, script)
