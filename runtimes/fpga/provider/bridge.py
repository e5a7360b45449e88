"""Callbacks of the execution provider, one set for all sessions, and the options that they read."""

from __future__ import annotations

import ctypes as c
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from exporters.types import GraphlapError
from runtimes.errors import Unsupported
from runtimes.fpga.card.compiler import Compiled, compile_graph
from runtimes.fpga.cards import Target, read_target
from runtimes.fpga.graph.graph import Graph
from runtimes.fpga.numerics.emulation import Emulation, KernelError
from runtimes.fpga.provider import abi
from runtimes.fpga.provider.abi import PROVIDER_NAME, Callbacks
from runtimes.fpga.provider.graph import (
    claimed_graph,
    claims,
    left_out,
    predecessors,
    read_graph,
    read_tensor,
    why_left_out,
)
from runtimes.onnxruntime.c_api import ABI_VERSION, OrtApi


def own_options(api: OrtApi, session_options: int) -> dict[str, str]:
    """Those that ONNX Runtime files under the provider's name, without it."""
    pairs = c.c_void_p()
    api.GetSessionOptionsConfigEntries(session_options, c.byref(pairs))
    try:
        keys, values = c.POINTER(c.c_char_p)(), c.POINTER(c.c_char_p)()
        count = c.c_size_t()
        api.GetKeyValuePairs(pairs, c.byref(keys), c.byref(values), c.byref(count))
        entries = {
            (keys[i] or b"").decode(): (values[i] or b"").decode() for i in range(count.value)
        }
    finally:
        api.ReleaseKeyValuePairs(pairs)
    prefix = f"ep.{PROVIDER_NAME.lower()}."
    return {key[len(prefix) :]: v for key, v in entries.items() if key.lower().startswith(prefix)}


_VENDOR = b"Graphlap"
_VENDOR_ID = 0xF96A
"""No vendor of the PCI list: nothing of this device is real but its arithmetic."""

_DEVICE_METADATA = {"simulated": "1", "description": "simulated low-latency FPGA inference card"}

_P, _N, _U = c.c_void_p, c.c_size_t, c.c_uint32
_PP = c.POINTER(c.c_void_p)
_OUT_COUNT = c.POINTER(c.c_size_t)


class _Hooks(c.Structure):
    """`struct hooks` of shim.c."""

    _fields_ = [
        ("create_factories", _P),
        ("release_factory", _P),
        ("release_provider", _P),
        ("release_computations", _P),
    ]


@dataclass(frozen=True, slots=True)
class _Provider:
    """One session's provider: the structure that ONNX Runtime holds, and our side of it.

    `target` is the reason instead if the options describe no card.
    """

    structure: abi.Ep
    target: Target | GraphlapError
    logger: int


@dataclass(frozen=True, slots=True)
class _Computation:
    """One fused node: the structure that ONNX Runtime holds, what computes it, and its timing."""

    structure: abi.NodeComputeInfo
    emulation: Emulation
    compiled: Compiled


class Bridge:
    """Everything that ONNX Runtime may call, and what it has been given so far."""

    def __init__(self, shim: c.CDLL) -> None:
        self._shim = shim
        self._hooks = _Hooks.in_dll(shim, "hooks")
        self._api: OrtApi
        self._ep_api: abi.OrtEpApi
        self._device = c.c_void_p()
        self._factories = 0
        self._providers: dict[int, _Provider] = {}
        self._computations: dict[int, _Computation] = {}
        self._callbacks = Callbacks(self._status)
        name = self._callbacks.text(PROVIDER_NAME.encode())
        self._get_name = self._callbacks.function(lambda _handle: name, _P, _P)
        self._factory = self._make_factory()
        self._provider_callbacks = {
            "GetName": self._get_name,
            "GetCapability": self._callbacks.checked(self._get_capability, _P, _P, _P),
            "Compile": self._callbacks.checked(self._compile, _P, _PP, _PP, _N, _PP, _PP),
            "ReleaseNodeComputeInfos": self._export_address("release_computations"),
        }
        self._computation_callbacks = {
            "CreateState": self._export_address("create_state"),
            "Compute": self._callbacks.checked(self._compute, _P, _P, _P),
            "ReleaseState": self._export_address("release_state"),
        }

    def fill_hooks(self) -> None:
        """Let the shim's exported functions reach this object."""
        hooks = self._hooks
        hooks.create_factories = self._callbacks.function(
            self._create_factories, _P, c.c_char_p, _P, _P, _PP, _N, _OUT_COUNT
        )
        hooks.release_factory = self._callbacks.function(self._release_factory, None, _P)
        hooks.release_provider = self._callbacks.function(self._release_provider, None, _P, _P)
        hooks.release_computations = self._callbacks.function(
            self._release_computations, None, _P, _PP, _N
        )

    def empty_hooks(self) -> None:
        """Cut the way back: releases become no-ops, so that the interpreter may end."""
        c.memset(c.byref(self._hooks), 0, c.sizeof(_Hooks))

    def graphs(self) -> tuple[Graph, ...]:
        """The graphs of all fused nodes of live sessions, in the order of compilation."""
        return tuple(each.emulation.graph for each in tuple(self._computations.values()))

    def compiled(self) -> tuple[Compiled, ...]:
        """What the compiler made of each of `graphs`."""
        return tuple(each.compiled for each in tuple(self._computations.values()))

    def _status(self, error: BaseException) -> int:
        # Not EP_FAIL: on that, onnxruntime's Python side runs the model on the CPU instead.
        code, message = abi.FAIL, f"{type(error).__name__}: {error}"
        if isinstance(error, GraphlapError):
            code, message = abi.INVALID_ARGUMENT, str(error)
        elif isinstance(error, KernelError):
            message = str(error)
        status = self._api.CreateStatus(code, f"{PROVIDER_NAME}: {message}".encode())
        return status or 0

    def _export_address(self, symbol: str) -> int:
        return c.cast(self._shim[symbol], c.c_void_p).value or 0

    def _make_factory(self) -> abi.EpFactory:
        vendor = self._callbacks.text(_VENDOR)
        own_version = self._callbacks.text(_package_version().encode())
        return abi.EpFactory(
            version=ABI_VERSION,
            GetName=self._get_name,
            GetVendor=self._callbacks.function(lambda _handle: vendor, _P, _P),
            GetSupportedDevices=self._callbacks.checked(
                self._get_supported_devices, _P, _PP, _N, _PP, _N, _OUT_COUNT
            ),
            CreateEp=self._callbacks.checked(self._create_provider, _P, _PP, _PP, _N, _P, _P, _PP),
            ReleaseEp=self._export_address("release_provider"),
            GetVendorId=self._callbacks.function(lambda _handle: _VENDOR_ID, _U, _P),
            GetVersion=self._callbacks.function(lambda _handle: own_version, _P, _P),
            CreateAllocator=self._callbacks.checked(_no_allocator, _P, _P, _P, _PP),
            ReleaseAllocator=self._callbacks.function(
                lambda _handle, _allocator: None, None, _P, _P
            ),
            CreateDataTransfer=self._callbacks.checked(_no_transfer, _P, _PP),
            IsStreamAware=self._callbacks.function(lambda _handle: False, c.c_bool, _P),
        )

    def _create_factories(
        self,
        _name: bytes,
        base: int,
        _logger: int,
        factories: abi.Pointers,
        _capacity: int,
        count: abi.Counts,
    ) -> None:
        self._api, self._ep_api = abi.open_tables(base)
        self._factories += 1
        factories[0] = c.addressof(self._factory)
        count[0] = 1

    def _release_factory(self, _factory: int) -> None:
        # A second registration asks for a factory before it is refused.
        self._factories -= 1
        if not self._factories and self._device.value:
            self._ep_api.ReleaseHardwareDevice(self._device)
            self._device = c.c_void_p()

    def _get_supported_devices(
        self,
        factory: int,
        _hardware_devices: abi.Pointers,
        _number: int,
        devices: abi.Pointers,
        _capacity: int,
        count: abi.Counts,
    ) -> None:
        api = self._api
        if not self._device.value:
            metadata = c.c_void_p()
            api.CreateKeyValuePairs(c.byref(metadata))
            for key, value in _DEVICE_METADATA.items():
                api.AddKeyValuePair(metadata, key.encode(), value.encode())
            self._ep_api.CreateHardwareDevice(
                abi.NPU, _VENDOR_ID, 0, _VENDOR, metadata, c.byref(self._device)
            )
            api.ReleaseKeyValuePairs(metadata)
        device_pointer = c.c_void_p()
        self._ep_api.CreateEpDevice(factory, self._device, None, None, c.byref(device_pointer))
        devices[0] = device_pointer.value
        count[0] = 1

    def _create_provider(
        self,
        _factory: int,
        _devices: abi.Pointers,
        _metadata: abi.Pointers,
        _number: int,
        session_options: int,
        logger: int,
        provider_out: abi.Pointers,
    ) -> None:
        # Told here or in GetCapability, ONNX Runtime goes on without the card; told when
        # the session compiles, it refuses to make the session.
        target: Target | GraphlapError
        try:
            target = read_target(own_options(self._api, session_options))
        except GraphlapError as error:
            target = error
        structure = abi.Ep(version=ABI_VERSION, **self._provider_callbacks)
        address = c.addressof(structure)
        self._providers[address] = _Provider(structure, target, logger)
        provider_out[0] = address

    def _release_provider(self, _factory: int, provider: int) -> None:
        self._providers.pop(provider, None)

    def _get_capability(self, provider_handle: int, graph: int, support: int) -> None:
        provider = self._providers[provider_handle]
        ort_graph = read_graph(self._api, graph)
        reasons = {i: why_left_out(ort_graph, i) for i in range(len(ort_graph.nodes))}
        if message := left_out(ort_graph, reasons):
            self._api.Logger_LogMessage(
                provider.logger, abi.WARNING, message.encode(), b"bridge.py", 0, b"GetCapability"
            )
        supported_nodes = [i for i, reason in reasons.items() if reason is None]
        node_predecessors = predecessors(
            ort_graph.depends_on, [node.outputs for node in ort_graph.graph.nodes]
        )
        fusion = abi.NodeFusionOptions(ABI_VERSION, True)
        for claim in claims(node_predecessors, supported_nodes):
            nodes = abi.array_of(c.c_void_p, len(claim))(*(ort_graph.nodes[i] for i in claim))
            self._ep_api.EpGraphSupportInfo_AddNodesToFuse(
                support, nodes, len(claim), c.byref(fusion)
            )

    def _compile(
        self,
        provider_handle: int,
        graphs: abi.Pointers,
        fused_nodes: abi.Pointers,
        count: int,
        computations: abi.Pointers,
        _contexts: abi.Pointers,
    ) -> None:
        target = self._providers[provider_handle].target
        if isinstance(target, GraphlapError):
            raise target
        compiled_claims = [
            self._computation(graphs[i], fused_nodes[i], target) for i in range(count)
        ]
        tile_count = sum(computation.compiled.placement.used for computation in compiled_claims)
        if tile_count > target.card.tiles:
            raise Unsupported(
                f"the parts of the graph need {tile_count} tiles, the card has {target.card.tiles}",
                "use a smaller graph or a card with more tiles",
            )
        for i, computation in enumerate(compiled_claims):
            address = c.addressof(computation.structure)
            self._computations[address] = computation
            computations[i] = address

    def _computation(self, graph: int, fused_node: int, target: Target) -> _Computation:
        """One claim made ready; Unsupported if the card has too few tiles for it."""
        emulation = Emulation(claimed_graph(self._api, graph, fused_node))
        return _Computation(
            abi.NodeComputeInfo(version=ABI_VERSION, **self._computation_callbacks),
            emulation,
            compile_graph(emulation.graph, target.card, target.release.name),
        )

    def _release_computations(self, _provider: int, computations: abi.Pointers, count: int) -> None:
        for i in range(count):
            self._computations.pop(computations[i], None)

    def _compute(self, compute_handle: int, _state: int, context: int) -> None:
        api = self._api
        emulation = self._computations[compute_handle].emulation
        value = c.c_void_p()
        inputs = []
        for i in range(len(emulation.graph.inputs)):
            api.KernelContext_GetInput(context, i, c.byref(value))
            inputs.append(read_tensor(api, value.value or 0))
        for i, output in enumerate(emulation.run(inputs)):
            shape = abi.array_of(c.c_int64, output.ndim)(*output.shape)
            api.KernelContext_GetOutput(context, i, shape, output.ndim, c.byref(value))
            read_tensor(api, value.value or 0)[...] = output


def _no_allocator(_handle: int, _memory: int, _options: int, allocator: abi.Pointers) -> None:
    allocator[0] = None


def _no_transfer(_handle: int, transfer: abi.Pointers) -> None:
    transfer[0] = None


def _package_version() -> str:
    try:
        return version("graphlap")
    except PackageNotFoundError:
        return "0.0.0"
