"""Requests and replies of the child processes that export models, outline files and count nodes.

They cross pipes as JSON lines; the parent may import them, without torch and onnx. One process
of `python -m exporters.worker` serves many requests, so that importing torch is paid once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from exporters.types import ExportedModel, Precision, TensorSpec


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """One model in one precision, with a reference for each point of its axes.

    `model` is a catalogue name or alias, an .onnx path, `path/file.py:factory` or `hf:PATH`.
    `points` are assignments of the model's axes; what they leave out is at its default. `weights`
    is a safetensors file for a definition, `inputs` an .npz of the user's own inputs, `calibration`
    one for int8; `more_inputs` are further sets, fed in turn with the first; `rotate_inputs` draws
    several. `from_nodes` and `to_nodes` cut a part out of a user's graph. `input_range` bounds what
    is drawn, both ends included for integers; `states` maps outputs to the inputs that they become.
    `custom_ops` are libraries of operators for ONNX Runtime. Not `checked`: nothing is expected of
    the outputs. `null_of` asks for the null twin of a model that is exported, which `model` then
    names. `cache_limit_bytes` 0 is the cache's own limit.
    """

    model: str
    precision: Precision = "fp32"
    points: tuple[Mapping[str, int], ...] = ()
    weights: str = ""
    inputs: str = ""
    calibration: str = ""
    from_nodes: tuple[str, ...] = ()
    to_nodes: tuple[str, ...] = ()
    more_inputs: tuple[str, ...] = ()
    rotate_inputs: bool = False
    input_range: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)
    custom_ops: tuple[str, ...] = ()
    checked: bool = True
    cache_dir: str = ""
    seed: int = 0
    null_of: ExportedModel | None = None
    cache_limit_bytes: int = 0


@dataclass(frozen=True, slots=True)
class ExportReply:
    """The model, or why there is none; `cached` says that nothing had to be exported.

    `status` is a row's, `cancelled` where nothing is said of the model because the disk is full;
    `reason` is one sentence. `transient`: circumstances made the export fail, such as a file that
    is not there, and not the model.
    """

    status: str
    model: ExportedModel | None = None
    reason: str = ""
    cached: bool = False
    export_ms: float = 0.0
    transient: bool = False


@dataclass(frozen=True, slots=True)
class GraphNode:
    """`reads` and `writes` map tensors to the bytes of them that the node must touch.

    None where a size is not known. A node that gives its input another shape touches none.
    `macs` are its multiply-accumulates, None where they are not known.
    """

    name: str
    op: str
    reads: Mapping[str, int | None]
    writes: Mapping[str, int | None]
    macs: int | None = None


@dataclass(frozen=True)
class NodeGraph:
    """The nodes of a file in its order and the tensors that it gives.

    `executed` are those of the same graph as an engine runs it, if it told.
    """

    nodes: tuple[GraphNode, ...] = ()
    outputs: tuple[str, ...] = ()
    executed: tuple[GraphNode, ...] = ()

    def maker(self, tensor: str) -> GraphNode | None:
        """The node that gives a tensor; None for inputs and weights."""
        return self._makers.get(tensor)

    def needing(self, tensor: str) -> Sequence[GraphNode]:
        """The nodes that read a tensor."""
        return self._readers.get(tensor, ())

    def called(self, name: str) -> tuple[str, ...]:
        """The name of the node that is called so, or that gives the tensor that is; or nothing."""
        node = self._by_name.get(name) or self._makers.get(name)
        return (node.name,) if node else ()

    @cached_property
    def _by_name(self) -> dict[str, GraphNode]:
        return {node.name: node for node in self.nodes}

    @cached_property
    def _makers(self) -> dict[str, GraphNode]:
        return {tensor: node for node in self.nodes for tensor in node.writes}

    @cached_property
    def _readers(self) -> dict[str, list[GraphNode]]:
        readers: dict[str, list[GraphNode]] = {}
        for node in self.nodes:
            for tensor in node.reads:
                readers.setdefault(tensor, []).append(node)
        return readers

    @property
    def touched_bytes(self) -> int:
        """Each tensor that a run reads or writes, once, as far as their sizes are known."""
        tensors = {t: size for n in self.nodes for t, size in {**n.reads, **n.writes}.items()}
        return sum(size for size in tensors.values() if size is not None)


@dataclass(frozen=True, slots=True)
class Outline:
    """`batch` and `sequence` are the open axes that play those parts, empty where none does.

    `assumed` are the sizes of axes that nobody has set; an axis without one must be set. `sums` are
    the axes that follow from others, with their addends: names of axes, and numbers as text. `past`
    is the axis of what the caches of a decoder hold, empty where its tokens have no axis;
    `prefill` has the axis of its new tokens, with the size that is assumed where nothing is past.
    """

    inputs: tuple[TensorSpec, ...]
    axes: tuple[str, ...]
    batch: str = ""
    sequence: str = ""
    assumed: Mapping[str, int] = field(default_factory=dict)
    sums: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    past: str = ""
    prefill: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OutlineRequest:
    """A file, or the part of it between the nodes.

    `closely` has all of it read but its weights: whether the files that hold them are there too.
    Not `tried`: the graph is not run to see whether it takes sizes that are assumed.
    """

    path: str
    from_nodes: tuple[str, ...] = ()
    to_nodes: tuple[str, ...] = ()
    closely: bool = False
    tried: bool = True


@dataclass(frozen=True, slots=True)
class OutlineReply:
    """The outline, or why there is none: a cause and a remedy."""

    outline: Outline | None = None
    cause: str = ""
    remedy: str = ""


def with_sums(sizes: Mapping[str, int], totals: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    """The sizes with those sums all of whose addends have one."""
    complete = dict(sizes)
    for axis, addends in totals.items():
        if axis not in sizes and all(term in sizes or term.isdecimal() for term in addends):
            complete[axis] = sum(int(sizes.get(term, term)) for term in addends)
    return complete
