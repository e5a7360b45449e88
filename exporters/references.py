"""The reference of each point that a model is measured at, from the store where it has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from exporters.agreement import Bound
from exporters.cache import Done, Store, done
from exporters.codec import from_json, to_json
from exporters.diagnostics import Diagnostic, diagnostic
from exporters.file_access import arrays_sha256
from exporters.inputs import cast_specs
from exporters.messages import ExportRequest
from exporters.source import (
    LARGEST_COMPUTED,
    REFERENCE,
    Evaluation,
    Graph,
    Packaged,
    Point,
    Source,
    Subject,
    Vouched,
    computed_point,
    write_reference,
)
from exporters.types import (
    PACKAGED,
    Dimension,
    ExportError,
    NotBenchmarkable,
    Reference,
    TensorSpec,
    axes_key,
    load_reference,
)
from exporters.user_arrays import digest_of, input_files


@dataclass(frozen=True, slots=True)
class References:
    """The file of each point by `axes_key`, and who computed the outputs in them.

    `uncompared` is why nothing is to be compared with them, None where it is. `stored` says that
    all of them were there already, `packaged` what came with the model. `unfit` says
    of each other point that was asked for why no outputs are expected; `points` are those that have
    some, or all. `limited` are the inputs of which finite values were limited to those of the
    precision, `random` the outputs that differ from run to run where others do not.
    """

    by: str
    uncompared: Diagnostic | None
    points: tuple[Point, ...]
    files: Mapping[str, str]
    stored: bool
    packaged: Packaged
    unfit: Mapping[str, tuple[str, ...]]
    limited: tuple[str, ...]
    random: tuple[str, ...]

    def resolved(self, outputs: Sequence[TensorSpec]) -> tuple[TensorSpec, ...]:
        """Output shapes in terms of the axes, where a file has other names or none.

        An open dimension is the axis whose size it has at every point, else a number if it is
        the same at every point, else what the file says. So it does where references differ
        in it. An output that declares no shape has as many dimensions as its references.
        """
        axes = self.points[0]

        def is_known(size: Dimension) -> bool:
            return isinstance(size, int) or size in axes

        if not self.by or all(is_known(size) for spec in outputs for size in spec.shape):
            return tuple(outputs)
        references = [load_reference(self.files[axes_key(point)]) for point in self.points]

        def dimension(output: str, position: int, size: Dimension) -> Dimension:
            if is_known(size) or not all(_agree_in(reference, output) for reference in references):
                return size
            sizes = [reference.outputs[output].shape[position] for reference in references]
            if len(set(sizes)) == 1:
                return sizes[0]
            follows = [axis for axis in axes if sizes == [point[axis] for point in self.points]]
            return follows[0] if follows else size

        def shape(spec: TensorSpec) -> tuple[Dimension, ...]:
            if spec.owner:
                return spec.shape
            dimensions = spec.shape
            ranks = {reference.outputs[spec.name].ndim for reference in references}
            if len(ranks) == 1 and ranks != {len(dimensions)}:
                dimensions = tuple(f"{spec.name}_{place}" for place in range(*ranks))
            return tuple(dimension(spec.name, place, s) for place, s in enumerate(dimensions))

        return tuple(replace(spec, shape=shape(spec)) for spec in outputs)


def references_of(
    store: Store,
    source: Source,
    subject: Subject,
    graph: Graph,
    points: tuple[Point, ...],
    request: ExportRequest,
    bound: Bound,
) -> References:
    """Inputs at each point, the user's own, packaged or drawn ones, and if `checked` outputs.

    A point that the graph does not take has none; ExportError where it takes none of them.
    `bound` is how far outputs of the graph's own types may be off.
    """
    evaluator = source.evaluator(graph) if request.checked else None
    precision, own_inputs = request.precision, next(iter(input_files(request)), None)
    packaged_data = Packaged(None) if own_inputs else source.packaged(points)
    own_inputs = own_inputs or packaged_data.inputs
    evaluation = Evaluation(
        subject.inputs,
        cast_specs(subject.inputs, precision),
        request.seed,
        own_inputs,
        packaged_data.reference,
        evaluator,
        subject.examples,
        subject.called,
        bound,
        {PACKAGED: packaged_data.refused} if packaged_data.refused else {},
        precision,
    )
    rows = None if own_inputs else _batch_positions(source, graph)
    facts = {
        **_recipe(evaluation),
        "graph": graph.path.stem,
        "repeated_beyond": LARGEST_COMPUTED if rows else 0,
    }
    steps_by_point: dict[str, Done] = {}
    unfit: dict[str, ExportError] = {}
    limited_names: dict[str, None] = {}
    for point in points:
        try:
            names = evaluation.limited(computed_point(point, rows))
            limited_names |= dict.fromkeys(names)
            # Graphs of another precision that are fed the same share what is expected of them.
            fed_in = {"fed in": precision} if names else {}
            steps_by_point[axes_key(point)] = done(
                store,
                write_reference,
                evaluation,
                point,
                rows,
                key_facts={**facts, **fed_in, "point": dict(point)},
                packages=("numpy", *(evaluator.packages if evaluator else ())),
                extra_modules=evaluator.modules if evaluator else (),
            )
        except NotBenchmarkable:  # which the graph is at every size
            raise
        except ExportError as error:
            unfit[axes_key(point)] = error
    if not steps_by_point:
        raise next(iter(unfit.values()))
    files = {
        key: str(reference.entry.files[REFERENCE]) for key, reference in steps_by_point.items()
    }
    all_facts = {
        key: from_json(Vouched, reference.entry.facts) for key, reference in steps_by_point.items()
    }
    refusals = {key: facts.refusal for key, facts in all_facts.items() if facts.refusal}
    reference_facts = [facts for facts in all_facts.values() if not facts.refusal]
    return References(
        " and ".join(dict.fromkeys(file_facts.by for file_facts in reference_facts)),
        _why_uncompared(reference_facts) if reference_facts else None,
        # Those without outputs count where all are.
        tuple(
            p for p in points if axes_key(p) in (all_facts.keys() - refusals.keys() or all_facts)
        ),
        files,
        all(reference.stored for reference in steps_by_point.values()),
        packaged_data,
        {**{key: (error.cause, error.remedy) for key, error in unfit.items()}, **refusals},
        tuple(limited_names),
        tuple(dict.fromkeys(name for file in reference_facts for name in file.random)),
    )


def _recipe(evaluation: Evaluation) -> dict[str, Any]:
    """What references are made from, as far as it is the same at every point."""
    evaluator, reference, own_file = evaluation.evaluator, evaluation.packaged, evaluation.own_file
    if reference is not None:
        computed_by = PACKAGED
        inputs = arrays_sha256({**reference.inputs, **reference.outputs})
    else:
        computed_by = evaluator.name if evaluator else ""
        examples_sha256 = arrays_sha256(evaluation.examples)
        seed_text = f"{evaluation.seed} {evaluation.inputs} {examples_sha256}"
        inputs = digest_of(own_file) if own_file else seed_text
    return {
        "by": computed_by if evaluator else "",
        "needs": evaluator.needs if evaluator else (),
        "inputs": inputs,
        "types": [spec.dtype for spec in evaluation.fed],
        "bound": to_json(evaluation.bound),
        "missing": evaluation.missing,
    }


def _agree_in(reference: Reference, output: str) -> bool:
    """Whether an output has one shape, whoever computed it."""
    shape = reference.outputs[output].shape
    return all(o[output].shape == shape for o in reference.others.values() if output in o)


def _why_uncompared(reference_facts: Sequence[Vouched]) -> Diagnostic | None:
    reference_name = reference_facts[0].by
    if not reference_name:
        return diagnostic("outputs_not_checked")
    if not set.intersection(*(set(file.repeated) for file in reference_facts)):
        return diagnostic("reference_not_deterministic", references=reference_name)
    return None


def _batch_positions(source: Source, graph: Graph) -> dict[str, int] | None:
    """Where each input and output has its batch; None if one has none, or if rows depend."""
    shapes = {f"input:{spec.name}": spec.shape for spec in source.subject.inputs}
    shapes |= {f"output:{spec.name}": spec.shape for spec in graph.outputs}
    independent = source.subject.independent_rows
    if not independent or any(shape.count("batch") != 1 for shape in shapes.values()):
        return None
    return {name: shape.index("batch") for name, shape in shapes.items()}
