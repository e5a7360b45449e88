"""The simulated card as a runtime: outputs from the execution provider, timings from its model.

ONNX Runtime partitions the graph and computes it through the provider, in emulated bf16;
how long the card would take is told by the compiler, never by a wall clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING

from exporters import own
from exporters.types import ExportedModel
from runtimes.base import (
    Availability,
    Device,
    Execution,
    NodePlacement,
    Option,
    Runtime,
    Session,
    Settings,
    Unavailable,
)
from runtimes.faults import Unsupported
from runtimes.fpga import cards
from runtimes.fpga.card.dtypes import touches_float
from runtimes.options import chosen
from runtimes.ort.runtime import OrtCpu
from runtimes.session.host import fixed_shapes

if TYPE_CHECKING:
    import onnxruntime

    from runtimes.fpga.card.compiler import Compiled
    from runtimes.fpga.card.graph import Graph

_SHIM = "runtimes.fpga.provider._shim"
_LOG_ERRORS = 3

OPTIONS = (
    Option("clock", 0.0, "the card's clock in MHz, 0 for its own", minimum=0),
    Option("cores", 0, "the card's number of cores, 0 for its own", minimum=0),
    Option("block", 0, "the side of a tile, 0 for the card's own", minimum=0),
    Option("tiles", 0, "tiles a core holds, 0 for the card's own", minimum=0),
)


class Fpga(Runtime):
    """`fpga:CARD[@RELEASE]`; the card is a key or the path of a card's .toml file."""

    name = "fpga"
    summary = "simulated low-latency FPGA card, through an ONNX Runtime execution provider"
    options = OPTIONS

    def availability(self) -> Availability:
        if find_spec(own.module_name(_SHIM)) is None:
            return Unavailable(
                "the C extension of the simulated card was not built",
                "install a C compiler, then install graphlap again",
            )
        return OrtCpu().availability()

    def devices(self) -> tuple[Device, ...]:
        return tuple(
            Device(key, f"{cards.load_card(key).name} (simulated)") for key in cards.card_keys()
        )

    def refuse(self, model: ExportedModel, axes: Mapping[str, int], settings: Settings) -> None:
        chosen(self, settings)
        self.refuse_device(settings.device, settings.release)
        fixed_shapes(model, model.inputs, axes)
        super().refuse(model, axes, settings)

    def refuse_device(self, device: str, release: str) -> None:
        cards.load_card(device or cards.DEFAULT_CARD).release(release)

    def load(self) -> None:
        from runtimes.fpga import provider

        provider.register()

    def compile(self, model: ExportedModel, axes: Mapping[str, int], settings: Settings) -> Session:
        from runtimes.fpga.card import importer
        from runtimes.fpga.card.compiler import compile_graph
        from runtimes.fpga.options import read_target
        from runtimes.fpga.session import FpgaSession

        self.refuse(model, axes, settings)
        texts = self._provider_options(settings)
        target = read_target(texts)
        states = tuple((pair.input, pair.output) for pair in model.states)
        graph: Graph | None = None
        compiled: Compiled | None = None
        refused: Unsupported | None = None
        try:
            graph = importer.load(model.path, axes, states)
            compiled = compile_graph(graph, target.card, target.release.name)
        except Unsupported as error:
            # A node that the card can't run may be one that ONNX Runtime leaves to another
            # provider; a graph that does not fit stays what it is.
            if not error.node:
                raise
            refused = error
        session = _open(model, axes, settings, texts)
        uncounted = (
            frozenset()
            if graph is None
            else frozenset(n.name for n in graph.nodes if not touches_float(graph, n))
        )
        execution = _execution(session, uncounted, target.card.name)
        if refused is not None and not execution.elsewhere:
            raise refused
        return FpgaSession(session, model, axes, execution, compiled)

    def _provider_options(self, settings: Settings) -> dict[str, str]:
        values = chosen(self, settings)
        texts = {"card": settings.device or cards.DEFAULT_CARD, "release": settings.release}
        return texts | {name: str(value) for name, value in values.items() if value}


def _open(
    model: ExportedModel,
    axes: Mapping[str, int],
    settings: Settings,
    provider_options: Mapping[str, str],
) -> onnxruntime.InferenceSession:
    """A session of the engine in which the card comes first and the CPU takes the rest."""
    import onnxruntime as ort

    from runtimes.fpga import provider
    from runtimes.ort.faults import compile_fault

    wanted = ort.SessionOptions()
    wanted.log_severity_level = _LOG_ERRORS
    wanted.intra_op_num_threads = settings.threads
    wanted.inter_op_num_threads = 1
    wanted.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    for axis, size in axes.items():
        wanted.add_free_dimension_override_by_name(axis, size)
    wanted.add_provider_for_devices([provider.device()], dict(provider_options))
    try:
        return ort.InferenceSession(model.path, wanted)
    except Exception as error:
        raise compile_fault(error) from error


def _execution(
    session: onnxruntime.InferenceSession, uncounted: frozenset[str], card: str
) -> Execution:
    """What runs where; nodes in `uncounted` are listed wherever they run."""
    from runtimes.fpga.provider.bridge import PROVIDER_NAME

    placement = tuple(
        NodePlacement(
            node=node.name,
            op=node.op_type,
            provider=part.ep_name,
            precision="bf16" if part.ep_name == PROVIDER_NAME else "fp32",
            counts=node.name not in uncounted,
        )
        for part in session.get_provider_graph_assignment_info()
        for node in part.get_nodes()
    )
    return Execution(
        provider=PROVIDER_NAME,
        precision="bf16",
        device_name=f"{card} (simulated)",
        call_path="",
        clock="simulated",
        placement=placement,
    )
