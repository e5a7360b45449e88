"""The simulated card as a runtime: outputs from the execution provider, timings from its model.

ONNX Runtime partitions the graph and computes it through the provider, in emulated bf16;
how long the card would take is told by the compiler, never by a wall clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from exporters import install_layout
from exporters.types import Precision
from runtimes.base import Availability, Device, Runtime, Session, Unavailable
from runtimes.errors import NotAvailable, Unsupported
from runtimes.execution import Execution, NodePlacement
from runtimes.fpga import cards
from runtimes.fpga.graph.graph import touches_float
from runtimes.fpga.provider.abi import PROVIDER_NAME, shim_path
from runtimes.onnxruntime.opening import availability, open_at_earlier_version
from runtimes.options import Option, Request

if TYPE_CHECKING:
    import onnxruntime

    from runtimes.fpga.card.compiler import Compiled
    from runtimes.fpga.graph.graph import Graph

_OLDEST_ORT = (1, 27)
"""Older ones ignore a plugin's name where a session asks for it."""

OPTIONS = (
    Option("clock", 0.0, "the card's clock in MHz, 0 for its own", minimum=0),
    Option("cores", 0, "the card's number of cores, 0 for its own", minimum=0),
    Option("block", 0, "the side of a tile, 0 for the card's own", minimum=0),
    Option("tiles", 0, "tiles a core holds, 0 for the card's own", minimum=0),
    Option("cards", 1, "equal cards that share the requests", minimum=1, tuned=False),
)


class Fpga(Runtime):
    """`fpga:CARD[@RELEASE]`; the card is a key or the path of a card's .toml file."""

    name = "fpga"
    summary = "simulated low-latency FPGA card, through an ONNX Runtime execution provider"
    engine = "onnxruntime"
    options = OPTIONS
    unexecuted: ClassVar[Mapping[Precision, str]] = {
        **Runtime.unexecuted,
        "bf16": "the card computes every fp32 graph in by itself",
    }
    clock = "simulated"
    has_releases = True
    default_device = cards.DEFAULT_CARD

    def availability(self) -> Availability:
        if shim_path() is None:
            return Unavailable(
                "the C extension of the simulated card was not built",
                install_layout.COMPILER_REMEDY,
            )
        return availability("cpu", _OLDEST_ORT)

    def devices(self) -> tuple[Device, ...]:
        return tuple(
            Device(key, f"{cards.load_card(key).name} (simulated)") for key in cards.card_keys()
        )

    def refuse_device(self, device: str, release: str) -> None:
        if set(device.split("+")) <= {*cards.card_keys()} and "+" in device:
            raise NotAvailable(
                f"{self.name}:{device} is several simulated cards",
                f"name each by itself, as {self.name}:{device.partition('+')[0]}; for "
                f"several equal cards use --option {self.name}.cards=2",
            )
        cards.load_card(device or cards.DEFAULT_CARD).release(release)

    def load(self) -> None:
        from runtimes.fpga import provider

        provider.register()

    def _compile(self, request: Request) -> Session:
        return open_at_earlier_version(self._open_session, (request,))

    def _open_session(self, requests: Sequence[Request]) -> Session:
        from runtimes.fpga.card.compiler import compile_graph
        from runtimes.fpga.cards import read_target
        from runtimes.fpga.graph import importer
        from runtimes.fpga.session import FpgaSession
        from runtimes.onnxruntime.session import OrtLane

        (request,) = requests
        texts = _provider_options(request)
        target = read_target(texts)
        states = tuple((pair.input, pair.output) for pair in request.model.states)
        if states and target.cards > 1:
            raise Unsupported(
                f"cards={target.cards}: the state of a stream lies on one card",
                "use cards=1, or a model without state",
            )
        graph: Graph | None = None
        compiled_model: Compiled | None = None
        compile_fault: Unsupported | None = None
        try:
            left_open = request.model.open_axes
            axes = {name: size for name, size in request.axes.items() if name in left_open}
            graph = importer.load(request.model.path, axes, states)
            compiled_model = compile_graph(graph, target.card, target.release.name)
        except Unsupported as error:
            # A node that the card can't run may be one that ONNX Runtime leaves to another
            # provider; a graph that does not fit stays what it is.
            if not error.node:
                raise
            compile_fault = error
        engine = _open(request, texts)
        lane = OrtLane(engine, request)
        execution = _execution(engine, lane.call_path, graph, target.card.name)
        if compile_fault is not None and not execution.elsewhere:
            raise compile_fault
        return FpgaSession(engine, lane, execution, compiled_model, target.cards)


def _provider_options(request: Request) -> dict[str, str]:
    texts = {"card": request.settings.device, "release": request.settings.release}
    return texts | {name: str(value) for name, value in request.options.items() if value}


def _open(request: Request, provider_options: Mapping[str, str]) -> onnxruntime.InferenceSession:
    """A session of the engine in which the card comes first and the CPU takes the rest."""
    import onnxruntime as ort

    from runtimes.fpga import provider
    from runtimes.onnxruntime.errors import compile_fault
    from runtimes.onnxruntime.opening import Opening, session_options

    options = session_options(Opening.of(request))
    options.add_provider_for_devices([provider.device()], dict(provider_options))
    try:
        return ort.InferenceSession(request.model.path, options)
    except Exception as error:
        raise compile_fault(error) from error


def _without_floats(graph: Graph, parts: Sequence[Any]) -> set[tuple[str, str, str]]:
    """The nodes that compute no floats, by name, operator and provider.

    What has no name in its file is told by its operator: where the card has as many of a kind as
    compute floats, those that it left compute none.
    """
    assigned = [
        (node.name, node.op_type, part.ep_name) for part in parts for node in part.get_nodes()
    ]
    floats = {node.name: node.op for node in graph.nodes if touches_float(graph, node)}
    whole = {node.name for node in graph.nodes} - floats.keys()
    nameless = Counter(floats[name] for name in floats.keys() - {name for name, *_ in assigned})
    nameless.subtract(
        op for name, op, provider in assigned if not name and provider == PROVIDER_NAME
    )
    return {
        (name, op, provider)
        for name, op, provider in assigned
        if name in whole or (not name and provider != PROVIDER_NAME and nameless[op] <= 0)
    }


def _execution(
    engine: onnxruntime.InferenceSession, call_path: str, graph: Graph | None, card: str
) -> Execution:
    """What runs where. Nodes of `graph` that compute no floats are listed wherever they run; a
    subgraph of the card runs when its first node would."""
    parts = engine.get_provider_graph_assignment_info()
    nodes = graph.nodes if graph is not None else ()
    places = {node.name: place for place, node in enumerate(nodes)}
    uncounted = _without_floats(graph, parts) if graph is not None else set()
    placement = tuple(
        NodePlacement(
            node=node.name,
            op=node.op_type,
            provider=part.ep_name,
            precision="bf16" if part.ep_name == PROVIDER_NAME else "fp32",
            counts=(node.name, node.op_type, part.ep_name) not in uncounted,
            position=min((places[name] for name in names if name in places), default=None),
        )
        for part in parts
        for names in [{node.name for node in part.get_nodes()}]
        for node in part.get_nodes()
    )
    return Execution(
        provider=PROVIDER_NAME,
        precision="bf16",
        device_name=f"{card} (simulated)",
        call_path=call_path,
        clock="simulated",
        placement=placement,
    )
