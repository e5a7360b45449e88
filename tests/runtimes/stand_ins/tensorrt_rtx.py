"""A `tensorrt_rtx_bindings` that is the stand-in `tensorrt`, and what TensorRT for RTX has beside.

It lacks what that lacks: flags of precision, and timings of kernels.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.runtimes.stand_ins import tensorrt

BuilderFlag = SimpleNamespace(TF32=tensorrt.BuilderFlag.TF32)
DynamicShapesKernelSpecializationStrategy = SimpleNamespace(LAZY="lazy", EAGER="eager")
strategies: list[str] = []
"""How each context was asked to come by its kernels."""


def __getattr__(name: str) -> Any:
    return getattr(tensorrt, name)


class ComputeCapability(int):
    pass


class IBuilderConfig(tensorrt.IBuilderConfig):
    create_timing_cache = set_timing_cache = get_timing_cache = None  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.num_compute_capabilities = 0

    def set_compute_capability(self, compute_capability: ComputeCapability, index: int) -> bool:
        assert index < self.num_compute_capabilities
        self._compute_capability = compute_capability
        return True


class Builder(tensorrt.Builder):
    def create_builder_config(self) -> IBuilderConfig:
        return IBuilderConfig()

    def build_serialized_network(
        self, network: tensorrt.INetworkDefinition, config: tensorrt.IBuilderConfig
    ) -> tensorrt.IHostMemory:
        assert isinstance(config, IBuilderConfig)
        plan = super().build_serialized_network(network, config)
        tensorrt.built[-1]["compute_capability"] = config._compute_capability
        return plan


class IRuntimeConfig:
    dynamic_shapes_kernel_specialization_strategy = DynamicShapesKernelSpecializationStrategy.LAZY


class ICudaEngine(tensorrt.ICudaEngine):
    def create_runtime_config(self) -> IRuntimeConfig:
        return IRuntimeConfig()

    def create_execution_context(
        self, runtime_config: IRuntimeConfig | None = None
    ) -> tensorrt.IExecutionContext:
        config = runtime_config or IRuntimeConfig()
        strategies.append(config.dynamic_shapes_kernel_specialization_strategy)
        return super().create_execution_context()


class Runtime(tensorrt.Runtime):
    def deserialize_cuda_engine(self, serialized_engine: bytes) -> ICudaEngine | None:
        engine = super().deserialize_cuda_engine(serialized_engine)
        return None if engine is None else ICudaEngine(engine._graph)
