"""Diagnostics of executions: what an engine executed, its outputs and references, and how the
model was exported.
"""

from __future__ import annotations

from exporters.diagnostics.diagnostic import (
    MESSAGE,
    NAME,
    NUMBER,
    QUOTED,
    RATIO,
    SHARE,
    Choice,
    Count,
    Entries,
    Entry,
    ExitCode,
)

_WHY_SILENT = Choice(
    {
        "undefined": "are others in the reference, and ONNX leaves open what they are",
        "same": "are the same for other inputs",
        "unsettled": "follow from decisions between values within the tolerance",
    }
)

ENGINE: Entries = {
    "precision_changed": Entry(
        title="Another precision executed",
        message="{requested} was requested and {executed} was executed.",
        condition="The kernels of the compiled session compute in another type than requested.",
        parameters={"requested": (NAME, "fp32"), "executed": (NAME, "bf16")},
    ),
    "precision_unknown": Entry(
        title="Executed precision unknown",
        message="{requested} was requested, and the engine does not report what it executed.",
        condition="The engine reports no type of its kernels.",
        parameters={"requested": (NAME, "fp16")},
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
        parameters={"allowed": (NAME, "fp16")},
    ),
    "tf32_forbidden_late": Entry(
        title="TF32 forbidden too late",
        message="TF32 was forbidden after NVIDIA's libraries were loaded, so it may still be in "
        "use.",
        condition="The process loaded NVIDIA's libraries before the option tf32 could be set.",
        action="Start the process with {variable}=0.",
        parameters={"variable": (NAME, "NVIDIA_TF32_OVERRIDE")},
    ),
    "precision_unreadable": Entry(
        title="Executed precision unreadable",
        message="The executed precision could not be read ({error}).",
        condition="Reading the compiled session, or the run that records its kernels, failed.",
        parameters={"error": (MESSAGE, "RuntimeException")},
    ),
    "ir_version_lowered": Entry(
        title="Opened as a copy at an earlier IR version",
        message="The file has IR version {of_file}, and this release of ONNX Runtime opens up to "
        "{opened}: it opened a copy at that version. Nothing in the graph needs the later one.",
        condition="A release of ONNX Runtime refused the file for its IR version alone.",
        severity="info",
        parameters={"of_file": (Count(), 10), "opened": (Count(), 9)},
    ),
    "mixed_precision": Entry(
        title="Mixed precision",
        message="Not all of the graph ran in {precision}: {wider} in a wider type, such as "
        "{nodes}.",
        condition="Some matrix kernels compute in a wider type than the narrowest among them.",
        parameters={
            "precision": (NAME, "int8"),
            "wider": (Count("node"), 7),
            "nodes": (NAME, ("MatMul 'head' in fp32",)),
        },
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
        parameters={"devices": (NAME, ("NVIDIA H100", "NVIDIA L4"))},
    ),
    "threads_pinned_together": Entry(
        title="Sessions pinned to the same cores",
        message="{sessions} keep to the same {threads} of {cores}, as OpenVINO pins the threads "
        "of each session.",
        condition="Several OpenVINO sessions with pinned threads have fewer threads than there "
        "are cores.",
        action="Use openvino-cpu with --option openvino-cpu.cpu_pinning=0.",
        parameters={
            "sessions": (Count("session"), 4),
            "threads": (Count(), 2),
            "cores": (Count("core"), 8),
        },
    ),
    "option_without_effect": Entry(
        title="Option without effect",
        message="{option} has no effect with one thread.",
        condition="Parallel execution was requested with --threads 1.",
        action="Remove the option, or use more --threads.",
        parameters={"option": (NAME, "execution_mode=parallel")},
    ),
    "int8_sums_widened": Entry(
        title="int8 sums in 32 bits",
        message="This processor has no VNNI instructions: the session was opened with {entry}, "
        "since sums of two int8 products would saturate in 16 bits.",
        condition="A graph converted to int8 runs on ONNX Runtime's CPU provider, and "
        "/proc/cpuinfo lists neither avx512_vnni nor avx_vnni.",
        severity="info",
        parameters={"entry": (NAME, "session.x64quantprecision=1")},
    ),
    "int8_sums_saturate": Entry(
        title="int8 sums may saturate",
        message="This processor has no VNNI instructions and ONNX Runtime fails to open this graph "
        "with {entry}, so sums of two int8 products may saturate in 16 bits.",
        condition="As for int8_sums_widened, and opening the session with the entry failed.",
        action="Measure int8 on OpenVINO, or on a processor with VNNI.",
        parameters={"entry": (NAME, "session.x64quantprecision=1")},
    ),
    "sync_not_granted": Entry(
        title="Another way of waiting for the GPU",
        message="sync={requested} was requested, and the process waits by {actual}.",
        condition="The CUDA context of the process was made with another way of waiting.",
        action="Measure the case in a process of its own.",
        parameters={"requested": (NAME, "spin"), "actual": (NAME, "block")},
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
        parameters={"inputs": (QUOTED, ("x",))},
    ),
    "engine_rebuilt": Entry(
        title="Stored engine built again",
        message="The stored engine was not used: {cause}. It was built again.",
        condition="The file of a stored TensorRT engine is damaged or unreadable, or TensorRT "
        "refuses it.",
        severity="info",
        parameters={
            "cause": (
                Choice(
                    {
                        "damaged": "its file is damaged",
                        "unreadable": "its file cannot be read",
                        "refused": "TensorRT refused it",
                    }
                ),
                "damaged",
            )
        },
    ),
    "engine_of_other_release": Entry(
        title="Stored engine of another release",
        message="The stored engine was made with {component} {release}; it was built again.",
        condition="The file of a stored TensorRT engine was made with another release of TensorRT, "
        "of the driver, or for another GPU.",
        severity="info",
        parameters={"component": (NAME, "tensorrt"), "release": (NAME, "10.3")},
    ),
    "engine_not_stored": Entry(
        title="Engine not stored",
        message="The engine could not be stored in {folder}; it is built in each round.",
        condition="The folder for built engines cannot be written.",
        action="Name a folder that can be written.",
        parameters={"folder": (NAME, "/cache/trt")},
    ),
    "engine_changed": Entry(
        title="Engine changed between rounds",
        message="The rounds ran releases {releases} of the engine: the figures belong to neither.",
        condition="A package was installed between two rounds of a case.",
        action="Measure the case in a new run.",
        parameters={"releases": (NAME, ("1.27.0", "1.31.1"))},
    ),
    "engine_crashed_at_close": Entry(
        title="Engine crashed when closed",
        message="The engine ended the process when its session was closed ({exit_code}); what was "
        "measured before is valid.",
        condition="The measuring process died after its outcome was recorded.",
        action="Update the engine.",
        parameters={"exit_code": (ExitCode(), -11)},
    ),
    "phase_failed_too": Entry(
        title="Another phase failed too",
        message="The phase {phase} failed too ({error}).",
        condition="After a round failed, a later phase of it failed as well.",
        parameters={"phase": (NAME, "teardown"), "error": (MESSAGE, "CUDA error 700")},
    ),
    "operators_exceed_run": Entry(
        title="Operator times exceed the run",
        message="The operator times add up to {ratio} the p50.",
        condition="The sum of the operator times exceeds twice the p50, on the same clock.",
        action="Measure them again on a quiet machine; if nothing changes, the time is the "
        "profiler's.",
        parameters={"ratio": (RATIO, 5.4)},
    ),
    "operators_miss_time": Entry(
        title="Operator times miss part of the run",
        message="The operator times add up to only {ratio} the p50.",
        condition="The sum of the operator times is below half the p50, on the same clock.",
        action="Look for the rest between the operators, in what the engine does for each run.",
        parameters={"ratio": (RATIO, 0.31)},
    ),
}


_COMPARE_NODE = "Compare the node in reference_disagreement with the source of the model."
_KEEP_BOUNDED = "Use a model or inputs that keep the state bounded."

OUTPUTS: Entries = {
    "outputs_not_checked": Entry(
        title="Outputs not checked",
        message="The outputs were not compared with a reference, as --no-verify-outputs requests.",
        condition="The run has --no-verify-outputs.",
        severity="info",
    ),
    "no_reference": Entry(
        title="No reference",
        message="No reference could compute the outputs ({error}), so they were not compared.",
        condition="ONNX's evaluator and ONNX Runtime refuse the sizes or inputs, and the engine "
        "of the row does not.",
        parameters={
            "error": (MESSAGE, "net.onnx cannot run on its inputs: it fails in node 'pad'")
        },
    ),
    "reference_not_deterministic": Entry(
        title="Model is not deterministic",
        message="Two runs of the reference {references} differ, so outputs were not compared.",
        condition="A reference gives other outputs in a second run on the same inputs.",
        parameters={"references": (NAME, "onnx")},
    ),
    "outputs_not_deterministic": Entry(
        title="Some outputs are not deterministic",
        message="Two runs of a reference differ in {outputs}, so only the other outputs were "
        "compared.",
        condition="A reference gives some of its outputs otherwise in a second run, and others "
        "again.",
        parameters={"outputs": (QUOTED, ("mask",))},
    ),
    "outputs_have_nan": Entry(
        title="Outputs have NaN",
        message="The outputs {outputs} have NaN, as the reference does.",
        condition="An output has NaN in the same places as the reference.",
        severity="info",
        parameters={"outputs": (QUOTED, ("y",))},
    ),
    "outputs_empty": Entry(
        title="Empty outputs",
        message="The outputs {outputs} are empty or NaN throughout, so that little is computed.",
        condition="An output has no element that is a number, in the row and in the reference.",
        action="Give inputs of your own (--inputs), of which the model computes something.",
        parameters={"outputs": (QUOTED, ("y",))},
    ),
    "outputs_say_nothing": Entry(
        title="Outputs that confirm nothing",
        message="The outputs {outputs} {why}, so they confirm nothing.",
        condition="An output is the same for inputs of another seed; or it differs, and ONNX "
        "leaves open what it is, or all of it follows from decisions between values within the "
        "tolerance.",
        action="Give inputs of your own (--inputs), of which the model computes something.",
        parameters={"outputs": (QUOTED, ("y",)), "why": (_WHY_SILENT, "same")},
    ),
    "slices_lost": Entry(
        title="Parts of an output are lost",
        message="The output {subject} has lost its signal in {share} of its slices along an axis, "
        "first of all at {slice}.",
        condition="The error of a slice, such as a channel, exceeds half of its own root mean "
        "square, in at most one slice of ten.",
        action="Keep the layers that make this output in a wider type.",
        parameters={"slice": (NAME, "axis 1, index 3"), "share": (SHARE, 0.05)},
        example_subject="y",
    ),
    "no_agreeing_reference": Entry(
        title="No reference agrees",
        message="The outputs differ from {others}, which nothing else confirms.",
        condition="One reference alone differs from the outputs, and no other could be computed.",
        action=_COMPARE_NODE,
        parameters={"others": (NAME, ("onnx",))},
    ),
    "only_own_engine_agrees": Entry(
        title="Only the own engine agrees",
        message="The outputs agree only with {agreeing}, which is the runtime's own engine, and "
        "not with {others}.",
        condition="Other references than the engine's own differ from the outputs.",
        action=_COMPARE_NODE,
        parameters={"agreeing": (NAME, ("onnxruntime unoptimised",)), "others": (NAME, ("onnx",))},
    ),
    "only_own_reference": Entry(
        title="Compared with the own engine only",
        message="The outputs were compared only with {agreeing}, which is the runtime's own "
        "engine, so an error that both share does not show.",
        condition="No reference could be computed that is independent of the measured engine.",
        action="Put expected outputs next to the model (NAME_output_0.pb).",
        severity="info",
        parameters={"agreeing": (NAME, ("onnxruntime unoptimised",))},
    ),
    "references_disagree": Entry(
        title="References disagree",
        message="The references disagree; the outputs agree with {agreeing}.",
        condition="Two references differ by more than the types of the graph allow.",
        action=_COMPARE_NODE,
        parameters={"agreeing": (NAME, ("onnx",))},
    ),
    "outputs_inexact": Entry(
        title="Outputs differ from the reference",
        message="The output {subject} differs from {reference} by {error} of its largest value; "
        "{tolerance} is allowed.",
        condition="An output of a graph that is simulated in part exceeds its tolerance.",
        parameters={
            "reference": (NAME, "onnx"),
            "error": (NUMBER, 0.012),
            "tolerance": (NUMBER, 0.001),
        },
        example_subject="y",
    ),
    "outputs_unequal": Entry(
        title="Integer outputs differ from the reference",
        message="The output {subject} differs from {reference} in {share} of its elements; "
        "integers must be equal.",
        condition="An integer output of a graph that is simulated in part differs.",
        parameters={"reference": (NAME, "onnx"), "share": (SHARE, 0.004)},
        example_subject="y",
    ),
    "outputs_incomparable": Entry(
        title="Outputs cannot be compared",
        message="The output {subject} differs from {reference}: one is missing, of another "
        "shape, or NaN or infinite where the other is not.",
        condition="An output of a graph that is simulated in part cannot be compared.",
        parameters={"reference": (NAME, "onnx")},
        example_subject="y",
    ),
    "state_not_finite": Entry(
        title="State is not finite",
        message="The state {subject} is infinite or NaN after the timed runs: ordinary "
        "values may take another time.",
        condition="A state that a run hands to the next is not finite at the end.",
        action=_KEEP_BOUNDED,
        example_subject="hidden",
    ),
    "state_subnormal": Entry(
        title="State is subnormal",
        message="The state {subject} is subnormal after the timed runs: ordinary values "
        "may take another time.",
        condition="A state that a run hands to the next has subnormal values at the end.",
        action=_KEEP_BOUNDED,
        example_subject="hidden",
    ),
    "accuracy_unavailable": Entry(
        title="Accuracy not measured",
        message="The accuracy could not be measured: {error}.",
        condition="--accuracy was given, and the images could not be classified.",
        parameters={"error": (MESSAGE, "input 'x' is not an image")},
    ),
}

EXPORT: Entries = {
    "axis_is_no_sum": Entry(
        title="Sizes that don't add up",
        message="{axis} has the size {size}, and {addends} add up to {total}: such a call may not "
        "come from a model in use.",
        condition="--axis gives the total of a cache and new tokens a size that is not their sum.",
        action="Remove --axis {axis}: it follows from the other sizes.",
        parameters={
            "axis": (NAME, "total_sequence_length"),
            "size": (NUMBER, 100),
            "addends": (NAME, ("past_sequence_length=64", "sequence_length=1")),
            "total": (NUMBER, 65),
        },
    ),
    "graph_in_training_mode": Entry(
        title="Graph in training mode",
        message="Of the graph's nodes {count} compute as in training, first {nodes}.",
        condition="A Dropout or BatchNormalization of a file has its training mode on.",
        action="Export the model in evaluation mode (model.eval() in torch).",
        parameters={"nodes": (QUOTED, ("norm",)), "count": (NUMBER, 1)},
    ),
    "checker_rejects_graph": Entry(
        title="ONNX's checker rejects the graph",
        message="ONNX's checker rejects the graph ({objection}). ONNX Runtime opens it.",
        condition="A file is no valid graph of ONNX's operators, and ONNX Runtime runs it.",
        severity="info",
        parameters={"objection": (MESSAGE, "No Op registered for SimplifiedLayerNormalization")},
    ),
    "sizes_fixed": Entry(
        title="Sizes fixed in the graph",
        message="Each case has a graph with fixed sizes, as torch could not export open ones: "
        "{error}.",
        condition="The exporter fails with open axes and works with fixed ones.",
        severity="info",
        parameters={"error": (MESSAGE, "data-dependent shape")},
    ),
    "old_exporter": Entry(
        title="Exported by the old exporter",
        message="The old exporter of torch made the graph, as the new one failed: {error}.",
        condition="The new exporter fails and the old one works.",
        severity="info",
        parameters={"error": (MESSAGE, "unsupported operator")},
    ),
    "graph_not_run": Entry(
        title="Exported graph not run",
        message="ONNX Runtime has no CPU kernel for the types of the graph, so the export was not "
        "compared with the module.",
        condition="The exported graph cannot be run when it is exported.",
        severity="info",
    ),
    "engine_disputes_graph": Entry(
        title="ONNX Runtime disagrees with the module",
        message="Unoptimised ONNX Runtime computes other outputs of the exported graph than the "
        "torch module and ONNX's evaluator.",
        condition="Of the torch module, ONNX's evaluator and ONNX Runtime only the last differs.",
        action="Report it to ONNX Runtime.",
    ),
    "input_guessed": Entry(
        title="Input guessed",
        message="The input {subject} decides how much is computed and was drawn as {values}.",
        condition="An input such as a count or a condition was not given.",
        action="Give it with --inputs.",
        parameters={"values": (NAME, "1")},
        example_subject="n",
    ),
    "data_beside_unused": Entry(
        title="Data beside the model not used",
        message="Inputs that lie beside the model were not used: {reason}.",
        condition="A NAME.npz, a test_data_set_0 or an input_example.json beside a file does not "
        "fit it, or the sizes that were set.",
        action="Give inputs that fit with --inputs, or take the file away.",
        severity="info",
        parameters={"reason": (MESSAGE, "net.npz has no array for x")},
    ),
    "input_limited": Entry(
        title="Input limited",
        message="The input {subject} has finite values that {precision} rounds to infinity; they "
        "were limited to ±{largest}.",
        condition="A value of an input is finite, and larger than the largest number of the "
        "precision.",
        action="Give smaller values with --input-range or --inputs.",
        parameters={"precision": (NAME, "fp16"), "largest": (NUMBER, 65504.0)},
        example_subject="x",
    ),
    "null_inputs_unread": Entry(
        title="No-op copy reads no input",
        message="The no-op copy does not read {inputs}: each output is an input unchanged, so an "
        "engine may leave these inputs in place.",
        condition="All outputs of a model have the shape and type of an input.",
        severity="info",
        parameters={"inputs": (NAME, ("x",))},
    ),
}
