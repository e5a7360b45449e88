"""Diagnostics of outputs, of references, and of how a model was exported."""

from __future__ import annotations

from exporters.diagnostics.entry import Entries, Entry
from exporters.diagnostics.units import MESSAGE, NAME, NUMBER, QUOTED, SHARE

_COMPARE_NODE = "Compare the node in reference_disagreement with the source of the model."
_KEEP_BOUNDED = "Use a model or inputs that keep the state bounded."

OUTPUTS: Entries = {
    "outputs_not_checked": Entry(
        title="Outputs not checked",
        message="The outputs were not compared with a reference, as --no-verify-outputs requests.",
        condition="The run has --no-verify-outputs.",
        severity="info",
    ),
    "reference_not_deterministic": Entry(
        title="Model is not deterministic",
        message="Two runs of the reference {references} differ, so outputs were not compared.",
        condition="A reference gives other outputs in a second run on the same inputs.",
        units={"references": NAME},
        example={"references": "onnx"},
    ),
    "outputs_have_nan": Entry(
        title="Outputs have NaN",
        message="The outputs {outputs} have NaN, as the reference does.",
        condition="An output has NaN in the same places as the reference.",
        severity="info",
        units={"outputs": QUOTED},
        example={"outputs": ("y",)},
    ),
    "no_agreeing_reference": Entry(
        title="No reference agrees throughout",
        message="No single reference agrees with all outputs.",
        condition="Each output agrees with some reference, and no reference with all outputs.",
        action=_COMPARE_NODE,
    ),
    "only_own_engine_agrees": Entry(
        title="Only the own engine agrees",
        message="The outputs agree only with {agreeing}, which is the runtime's own engine, and "
        "not with {others}.",
        condition="Other references than the engine's own differ from the outputs.",
        action=_COMPARE_NODE,
        units={"agreeing": NAME, "others": NAME},
        example={"agreeing": ("onnxruntime unoptimised",), "others": ("onnx",)},
    ),
    "only_own_reference": Entry(
        title="Compared with the own engine only",
        message="The outputs were compared only with unoptimised ONNX Runtime, so an error that "
        "both share does not show.",
        condition="ONNX Runtime is measured, and no other reference could be computed.",
        action="Put expected outputs next to the model (NAME_output_0.pb).",
        severity="info",
    ),
    "references_disagree": Entry(
        title="References disagree",
        message="The references disagree; the outputs agree with {agreeing}.",
        condition="Two references differ by more than the types of the graph allow.",
        action=_COMPARE_NODE,
        units={"agreeing": NAME},
        example={"agreeing": ("onnx",)},
    ),
    "outputs_inexact": Entry(
        title="Outputs differ from the reference",
        message="The output {subject} differs from {reference} by {error} of its largest value; "
        "{tolerance} is allowed.",
        condition="An output of a graph that is simulated in part exceeds its tolerance.",
        units={"reference": NAME, "error": NUMBER, "tolerance": NUMBER},
        example={"reference": "onnx", "error": 0.012, "tolerance": 0.001},
        example_subject="y",
    ),
    "outputs_unequal": Entry(
        title="Integer outputs differ from the reference",
        message="The output {subject} differs from {reference} in {share} of its elements; "
        "integers must be equal.",
        condition="An integer output of a graph that is simulated in part differs.",
        units={"reference": NAME, "share": SHARE},
        example={"reference": "onnx", "share": 0.004},
        example_subject="y",
    ),
    "outputs_incomparable": Entry(
        title="Outputs cannot be compared",
        message="The output {subject} differs from {reference}: one is missing, of another "
        "shape, or NaN or infinite where the other is not.",
        condition="An output of a graph that is simulated in part cannot be compared.",
        units={"reference": NAME},
        example={"reference": "onnx"},
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
        units={"error": MESSAGE},
        example={"error": "input 'x' is not an image"},
    ),
}

EXPORT: Entries = {
    "sizes_fixed": Entry(
        title="Sizes fixed in the graph",
        message="Each case has a graph with fixed sizes, as torch could not export open ones: "
        "{error}.",
        condition="The exporter fails with open axes and works with fixed ones.",
        severity="info",
        units={"error": MESSAGE},
        example={"error": "data-dependent shape"},
    ),
    "old_exporter": Entry(
        title="Exported by the old exporter",
        message="The old exporter of torch made the graph, as the new one failed: {error}.",
        condition="The new exporter fails and the old one works.",
        severity="info",
        units={"error": MESSAGE},
        example={"error": "unsupported operator"},
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
        units={"values": NAME},
        example={"values": "1"},
        example_subject="n",
    ),
    "input_limited": Entry(
        title="Input limited",
        message="The input {subject} has finite values that {precision} rounds to infinity; they "
        "were limited to ±{largest}.",
        condition="A value of an input is finite, and larger than the largest number of the "
        "precision.",
        action="Give smaller values with --input-range or --inputs.",
        units={"precision": NAME, "largest": NUMBER},
        example={"precision": "fp16", "largest": 65504.0},
        example_subject="x",
    ),
    "null_inputs_unread": Entry(
        title="No-op copy reads no input",
        message="The no-op copy does not read {inputs}: each output is an input unchanged, so an "
        "engine may leave these inputs in place.",
        condition="All outputs of a model have the shape and type of an input.",
        severity="info",
        units={"inputs": NAME},
        example={"inputs": ("x",)},
    ),
}
