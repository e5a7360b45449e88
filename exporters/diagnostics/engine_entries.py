"""Diagnostics of engines: what they executed, and how far that is what was requested."""

from __future__ import annotations

from exporters.diagnostics.entry import Entries, Entry
from exporters.diagnostics.units import MESSAGE, NAME, QUOTED, RATIO, Count

ENGINE: Entries = {
    "precision_changed": Entry(
        title="Another precision executed",
        message="{requested} was requested and {executed} was executed.",
        condition="The kernels of the compiled session compute in another type than requested.",
        units={"requested": NAME, "executed": NAME},
        example={"requested": "fp32", "executed": "bf16"},
    ),
    "precision_unknown": Entry(
        title="Executed precision unknown",
        message="{requested} was requested, and the engine does not report what it executed.",
        condition="The engine reports no type of its kernels.",
        units={"requested": NAME},
        example={"requested": "fp16"},
    ),
    "precision_not_reported": Entry(
        title="Engine reports no precision",
        message="{subject} does not report in which type it computes.",
        condition="The compiled session shows no type for floats that the graph computes.",
        example_subject="OpenVINO",
    ),
    "precision_chosen_by_engine": Entry(
        title="Precision chosen by the engine",
        message="TensorRT was allowed {allowed} and chose the type of each layer itself; ONNX "
        "Runtime does not report which.",
        condition="A narrow type was requested of the TensorRT provider of ONNX Runtime.",
        units={"allowed": NAME},
        example={"allowed": "fp16"},
    ),
    "tf32_forbidden_late": Entry(
        title="TF32 forbidden too late",
        message="TF32 was forbidden after NVIDIA's libraries were loaded, so it may still be in "
        "use.",
        condition="The process loaded NVIDIA's libraries before the option tf32 could be set.",
        action="Start the process with {variable}=0.",
        units={"variable": NAME},
        example={"variable": "NVIDIA_TF32_OVERRIDE"},
    ),
    "precision_unreadable": Entry(
        title="Executed precision unreadable",
        message="The executed precision could not be read ({error}).",
        condition="Reading the compiled session, or the run that records its kernels, failed.",
        units={"error": MESSAGE},
        example={"error": "RuntimeException"},
    ),
    "mixed_precision": Entry(
        title="Mixed precision",
        message="Not all of the graph ran in {precision}: {wider} in a wider type, such as "
        "{nodes}.",
        condition="Some matrix kernels compute in a wider type than the narrowest among them.",
        units={"precision": NAME, "wider": Count("node"), "nodes": NAME},
        example={"precision": "int8", "wider": 7, "nodes": ("MatMul 'head' in fp32",)},
    ),
    "sessions_differ": Entry(
        title="Sessions compiled differently",
        message="The engine did not compile all sessions alike; the row describes one of them.",
        condition="The sessions of a case differ in precision or in where their nodes run.",
    ),
    "devices_differ": Entry(
        title="Devices differ",
        message="The devices differ ({devices}): a scaling efficiency is relative to as many of "
        "the first.",
        condition="The sessions of a case run on devices of several names.",
        units={"devices": NAME},
        example={"devices": ("NVIDIA H100", "NVIDIA L4")},
    ),
    "threads_pinned_together": Entry(
        title="Sessions pinned to the same cores",
        message="{sessions} keep to the same {threads} of {cores}, as OpenVINO pins the threads "
        "of each session.",
        condition="Several OpenVINO sessions with pinned threads have fewer threads than there "
        "are cores.",
        action="Use openvino-cpu with --option openvino-cpu.cpu_pinning=0.",
        units={"sessions": Count("session"), "threads": Count(), "cores": Count("core")},
        example={"sessions": 4, "threads": 2, "cores": 8},
    ),
    "option_without_effect": Entry(
        title="Option without effect",
        message="{option} has no effect with one thread.",
        condition="Parallel execution was requested with --threads 1.",
        action="Remove the option, or use more --threads.",
        units={"option": NAME},
        example={"option": "execution_mode=parallel"},
    ),
    "sync_not_granted": Entry(
        title="Another way of waiting for the GPU",
        message="sync={requested} was requested, and the process waits by {actual}.",
        condition="The CUDA context of the process was made with another way of waiting.",
        action="Measure the case in a process of its own.",
        units={"requested": NAME, "actual": NAME},
        example={"requested": "spin", "actual": "block"},
    ),
    "streams_exhausted": Entry(
        title="Sessions share GPU streams",
        message="PyTorch has 32 streams for a GPU, so sessions share them and queue up.",
        condition="A case has more than 32 PyTorch sessions on one GPU.",
        action="Use at most 32 sessions.",
    ),
    "bf16_emulated": Entry(
        title="No products in bf16",
        message="This processor has no bf16 products, so PyTorch widens the operands.",
        condition="bf16 was requested of PyTorch on a processor without such instructions.",
    ),
    "inputs_copied": Entry(
        title="Inputs are copied in the timed run",
        message="The module writes to its input {inputs}, so each timed run copies it first.",
        condition="A torch module writes to its own inputs.",
        units={"inputs": QUOTED},
        example={"inputs": ("x",)},
    ),
    "engine_rebuilt": Entry(
        title="Stored engine built again",
        message="The stored engine was not used ({reason}); it was built again.",
        condition="The file of a stored TensorRT engine is damaged, unreadable, or of another "
        "release.",
        severity="info",
        units={"reason": MESSAGE},
        example={"reason": "made by TensorRT 10.3"},
    ),
    "engine_not_stored": Entry(
        title="Engine not stored",
        message="The engine could not be stored in {folder}; it is built in each round.",
        condition="The folder for built engines cannot be written.",
        action="Name a folder that can be written.",
        units={"folder": NAME},
        example={"folder": "/cache/trt"},
    ),
    "engine_changed": Entry(
        title="Engine changed between rounds",
        message="The rounds ran releases {releases} of the engine: the figures belong to neither.",
        condition="A package was installed between two rounds of a case.",
        action="Measure the case in a new run.",
        units={"releases": NAME},
        example={"releases": ("1.27.0", "1.31.1")},
    ),
    "engine_crashed_at_close": Entry(
        title="Engine crashed when closed",
        message="The engine ended the process when its session was closed ({ending}); what was "
        "measured before is valid.",
        condition="The measuring process died after its outcome was recorded.",
        action="Update the engine.",
        units={"ending": MESSAGE},
        example={"ending": "signal SIGSEGV"},
    ),
    "phase_failed_too": Entry(
        title="Another phase failed too",
        message="The phase {phase} failed too ({error}).",
        condition="After a round failed, a later phase of it failed as well.",
        units={"phase": NAME, "error": MESSAGE},
        example={"phase": "teardown", "error": "CUDA error 700"},
    ),
    "operators_exceed_run": Entry(
        title="Operator times exceed the run",
        message="The operator times add up to {ratio} the p50.",
        condition="The sum of the operator times exceeds twice the p50, on the same clock.",
        action="Measure them again on a quiet machine; if nothing changes, the time is the "
        "profiler's.",
        units={"ratio": RATIO},
        example={"ratio": 5.4},
    ),
    "operators_miss_time": Entry(
        title="Operator times miss part of the run",
        message="The operator times add up to only {ratio} the p50.",
        condition="The sum of the operator times is below half the p50, on the same clock.",
        action="Look for the rest between the operators, in what the engine does for each run.",
        units={"ratio": RATIO},
        example={"ratio": 0.31},
    ),
}
