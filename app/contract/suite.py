"""What every runtime must keep, as tests that its own test file inherits.

A test file names the runtime and, where it must, narrows what is tried::

    class TestOrtCpu(RuntimeContract):
        name = "ort-cpu"

This and nothing else of ours imports pytest.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar, get_args

import numpy as np
import pytest

from app.contract.graphs import BATCHES, CHANNELS, STEPS, Graphs, streamed
from app.workers.loop import WAIT, Block
from app.workers.timing import timing
from exporters import install_layout
from exporters.agreement import TOLERANCE
from exporters.types import ExportedModel, Precision, Reference, axes_key, load_reference
from runtimes import registry
from runtimes.base import Available, Runtime
from runtimes.errors import NotAvailable, OneShapeOnly, RunFault, RuntimeFault, Unsupported
from runtimes.options import OptionValue, Settings

ENGINES = frozenset({"onnxruntime", "torch", "openvino", "tensorrt", "tensorrt_rtx_bindings"})
ONE_THREAD = Settings(threads=1)


def reference_of(model: ExportedModel, batch: int) -> Reference:
    return load_reference(model.references[axes_key({"batch": batch})])


def agrees(actual: dict[str, np.ndarray], expected: Reference, tolerance: float = 1e-5) -> bool:
    """Same names, types and shapes, and no element off by more than rounding."""
    return actual.keys() == expected.outputs.keys() and all(
        actual[name].shape == expected_array.shape
        and actual[name].dtype == expected_array.dtype
        and bool(np.allclose(actual[name], expected_array, rtol=tolerance, atol=tolerance))
        for name, expected_array in expected.outputs.items()
    )


class RuntimeContract:
    name: ClassVar[str]
    untried: ClassVar[frozenset[str]] = frozenset()
    """`option=value` texts that are tested elsewhere, because they are slow or meant to fail."""
    tolerance: ClassVar[float] = 1e-5
    """What outputs may be off by, of values around one: more where fp32 graphs run in less."""
    precision: ClassVar[str] = "fp32"
    """What an fp32 graph is said to run in."""
    engines: ClassVar[frozenset[str]] = ENGINES
    """Modules that only compiling and running may import."""

    @pytest.fixture
    def graphs(self, tmp_path: Path) -> Graphs:
        return Graphs(tmp_path)

    @pytest.fixture
    def runtime(self) -> Runtime:
        return registry.load(self.name)

    @pytest.fixture(params=["dense", "step", "lookup"])
    def model(self, request: pytest.FixtureRequest, graphs: Graphs) -> ExportedModel:
        model: ExportedModel = getattr(graphs, request.param)
        return model

    @pytest.mark.parametrize("batch", BATCHES)
    def test_outputs_agree_with_the_reference(
        self, runtime: Runtime, model: ExportedModel, batch: int
    ) -> None:
        reference = reference_of(model, batch)
        with runtime.compile(model, {"batch": batch}, ONE_THREAD) as session:
            lane = session.lanes[0]
            lane.bind(reference.inputs)
            lane.run()
            assert agrees(lane.outputs(), reference, self.tolerance)
            lane.poison()
            lane.run()
            assert agrees(lane.outputs(), reference, self.tolerance)

    def test_a_run_that_writes_nothing_shows(self, runtime: Runtime, model: ExportedModel) -> None:
        reference = reference_of(model, 3)
        with runtime.compile(model, {"batch": 3}, ONE_THREAD) as session:
            lane = session.lanes[0]
            lane.bind(reference.inputs)
            lane.run()
            lane.poison()
            assert not agrees(lane.outputs(), reference, self.tolerance)
            lane.run()
            assert agrees(lane.outputs(), reference, self.tolerance)

    def test_a_session_of_several_shapes_answers_each_of_them_rightly(
        self, runtime: Runtime, model: ExportedModel
    ) -> None:
        shapes = [{"batch": batch} for batch in BATCHES]
        try:
            session = runtime.compile_shapes(model, shapes, ONE_THREAD)
        except OneShapeOnly:
            return
        with session:
            assert len(session.lanes) == 1
            for lane, batch in zip(session.by_shape, BATCHES, strict=True):
                lane.bind(reference_of(model, batch).inputs)
            for lane, batch in [*zip(session.by_shape, BATCHES, strict=True)] * 2:
                lane.poison()
                lane.run()
                assert agrees(lane.outputs(), reference_of(model, batch), self.tolerance)
        with pytest.raises(RunFault):
            session.by_shape[-1].run()

    def test_single_steps_equal_the_whole_sequence(self, runtime: Runtime, graphs: Graphs) -> None:
        sequence = np.random.default_rng(5).standard_normal((STEPS, 1, CHANNELS), np.float32)
        zero = np.zeros((1, CHANNELS), np.float32)
        state = {"h": zero, "older": zero}
        with runtime.compile(graphs.step, {"batch": 1}, ONE_THREAD) as session:
            lane = session.lanes[0]
            results = []
            for x in sequence:
                lane.bind({"x": x, **state})
                lane.run()
                results.append(lane.outputs()["y"])
                state = {"h": lane.outputs()["h_out"], "older": lane.outputs()["older_out"]}
            assert np.allclose(results, streamed(sequence), atol=self.tolerance)

            still = np.repeat(sequence[:1], STEPS, axis=0)
            lane.bind({"x": still[0], "h": zero, "older": zero})
            outputs = []
            for _ in range(STEPS):
                lane.run()
                outputs.append(lane.outputs()["y"])
                lane.advance()
            assert np.allclose(outputs, streamed(still), atol=self.tolerance)

    def test_inputs_fed_between_runs_leave_the_states_alone(
        self, runtime: Runtime, graphs: Graphs
    ) -> None:
        sequence = np.random.default_rng(6).standard_normal((STEPS, 1, CHANNELS), np.float32)
        zero = np.zeros((1, CHANNELS), np.float32)
        with runtime.compile(graphs.step, {"batch": 1}, ONE_THREAD) as session:
            lane = session.lanes[0]
            lane.bind({"x": sequence[0], "h": zero, "older": zero})
            results = []
            for following in (*sequence[1:], sequence[0]):
                lane.run()
                results.append(lane.outputs()["y"])
                lane.advance()
                lane.feed({"x": following})
        assert np.allclose(results, streamed(sequence), atol=self.tolerance)

    @pytest.mark.parametrize("fed_in_turn", [False, True])
    def test_states_go_on_in_the_loop_that_times_the_runtime(
        self, runtime: Runtime, graphs: Graphs, fed_in_turn: bool
    ) -> None:
        """Whether that is the loop in C or Python's."""
        sequence = np.random.default_rng(7).standard_normal((STEPS, 1, CHANNELS), np.float32)
        fed_sequence = sequence if fed_in_turn else np.repeat(sequence[:1], STEPS, axis=0)
        sets = [{"x": x} for x in sequence] if fed_in_turn else []
        zero = np.zeros((1, CHANNELS), np.float32)
        with runtime.compile(graphs.step, {"batch": 1}, ONE_THREAD) as session:
            lane = session.lanes[0]
            lane.bind({"x": sequence[0], "h": zero, "older": zero})
            time = timing(lane, 0, "spin", WAIT, streaming=True, sets=sets)
            time(Block(STEPS), STEPS - 1)
            time(Block(STEPS), 1)
            assert np.allclose(lane.outputs()["y"], streamed(fed_sequence)[-1], atol=self.tolerance)

    def test_inputs_are_copied_in_and_outputs_are_copied_out(
        self, runtime: Runtime, graphs: Graphs
    ) -> None:
        reference = reference_of(graphs.dense, 1)
        inputs = {name: array.copy() for name, array in reference.inputs.items()}
        with runtime.compile(graphs.dense, {"batch": 1}, ONE_THREAD) as session:
            lane = session.lanes[0]
            lane.bind(inputs)
            inputs["x"].fill(np.nan)
            lane.run()
            first = lane.outputs()
            lane.poison()
            lane.bind({"x": np.ones((1, CHANNELS), np.float32)})
            lane.run()
        assert agrees(first, reference, self.tolerance)

    def test_sessions_do_not_share_buffers(self, runtime: Runtime, graphs: Graphs) -> None:
        small, large = (reference_of(graphs.dense, batch) for batch in BATCHES)
        with (
            runtime.compile(graphs.dense, {"batch": 1}, ONE_THREAD) as first_session,
            runtime.compile(graphs.dense, {"batch": 3}, ONE_THREAD) as other,
        ):
            first, second = first_session.lanes[0], other.lanes[0]
            first.bind(small.inputs)
            second.bind(large.inputs)
            first.run()
            second.run()
            assert agrees(first.outputs(), small, self.tolerance)
            assert agrees(second.outputs(), large, self.tolerance)
            first_session.close()
            second.run()
            assert agrees(second.outputs(), large, self.tolerance)

    def test_a_thread_that_entered_can_run_it(self, runtime: Runtime, graphs: Graphs) -> None:
        reference = reference_of(graphs.dense, 3)
        with (
            runtime.compile(graphs.dense, {"batch": 3}, ONE_THREAD) as session,
            ThreadPoolExecutor(1) as pool,
        ):
            lane = session.lanes[0]
            lane.bind(reference.inputs)
            lane.poison()
            pool.submit(lane.enter).result()
            pool.submit(lane.run).result()
            assert agrees(lane.outputs(), reference, self.tolerance)

    def test_a_closed_session_cannot_run(self, runtime: Runtime, graphs: Graphs) -> None:
        session = runtime.compile(graphs.dense, {"batch": 1}, ONE_THREAD)
        session.close()
        session.close()
        with pytest.raises(RunFault):
            session.lanes[0].run()

    @pytest.mark.parametrize(
        ("name", "array", "named"),
        [
            ("x", np.zeros((2, CHANNELS), np.float32), "x"),
            ("x", np.zeros((1, CHANNELS), np.float64), "x"),
            ("z", np.zeros((1, CHANNELS), np.float32), "z"),
        ],
        ids=["shape", "dtype", "name"],
    )
    def test_a_wrong_input_is_named(
        self, runtime: Runtime, graphs: Graphs, name: str, array: np.ndarray, named: str
    ) -> None:
        with (
            runtime.compile(graphs.dense, {"batch": 1}, ONE_THREAD) as session,
            pytest.raises(Unsupported, match=named) as error_info,
        ):
            session.lanes[0].bind({name: array})
        assert error_info.value.remedy

    @pytest.mark.parametrize(
        ("axes", "named"), [({"batch": 1, "depth": 2}, "depth"), ({}, "batch")]
    )
    def test_a_wrong_axis_is_refused_without_a_session(
        self, runtime: Runtime, graphs: Graphs, axes: dict[str, int], named: str
    ) -> None:
        with pytest.raises(Unsupported, match=f"'{named}'") as error_info:
            runtime.refuse(graphs.dense, axes, ONE_THREAD)
        assert error_info.value.remedy

    def test_a_precision_that_it_does_not_execute_is_refused(
        self, runtime: Runtime, graphs: Graphs
    ) -> None:
        for precision in set(get_args(Precision)) - set(runtime.precisions):
            with pytest.raises(Unsupported, match=precision) as error_info:
                runtime.refuse(graphs.dense, {"batch": 1}, Settings(precision=precision))
            assert error_info.value.remedy

    def test_an_unknown_option_or_value_is_refused_with_the_known_ones(
        self, runtime: Runtime, graphs: Graphs
    ) -> None:
        settings = Settings(options={"warp_speed": 9})
        with pytest.raises(Unsupported, match="warp_speed") as error_info:
            runtime.refuse(graphs.dense, {"batch": 1}, settings)
        for option in runtime.options:
            assert option.name in str(error_info.value)
            if option.choices:
                with pytest.raises(Unsupported, match=option.name):
                    runtime.refuse(
                        graphs.dense, {"batch": 1}, Settings(options={option.name: "warp"})
                    )

    def test_the_options_table_serves_forms_and_flags(self, runtime: Runtime) -> None:
        names = [option.name for option in runtime.options]
        assert len(set(names)) == len(names)
        for option in runtime.options:
            assert re.fullmatch(r"[a-z][a-z0-9_]*", option.name)
            assert option.help
            assert option.parse(str(option.default)) == option.default
            for choice in option.choices:
                assert option.parse(str(choice)) == choice

    def test_the_engine_takes_every_option(self, runtime: Runtime, graphs: Graphs) -> None:
        reference = reference_of(graphs.step, 1)
        for name, value in self._values(runtime):
            settings = Settings(threads=1, options={name: value})
            with runtime.compile(graphs.step, {"batch": 1}, settings) as session:
                lane = session.lanes[0]
                lane.bind(reference.inputs)
                lane.run()
                tolerance = self._tolerance_with(name, value)
                assert agrees(lane.outputs(), reference, tolerance), f"{name}={value}"

    def _tolerance_with(self, name: str, value: OptionValue) -> float:
        """What may round its operands is held to what that rounds off."""
        rounds = (name, value) == ("tf32", True)
        return max(self.tolerance, TOLERANCE["tf32"]) if rounds else self.tolerance

    def _values(self, runtime: Runtime) -> Iterator[tuple[str, OptionValue]]:
        for option in runtime.options:
            values = (False, True) if isinstance(option.default, bool) else option.choices
            for value in values:
                if f"{option.name}={value}" not in self.untried:
                    yield option.name, value

    @pytest.mark.parametrize("threads", [0, 2])
    def test_any_number_of_threads_gives_the_same_answer(
        self, runtime: Runtime, graphs: Graphs, threads: int
    ) -> None:
        reference = reference_of(graphs.dense, 3)
        with runtime.compile(graphs.dense, {"batch": 3}, Settings(threads=threads)) as session:
            lane = session.lanes[0]
            lane.bind(reference.inputs)
            lane.run()
            assert agrees(lane.outputs(), reference, self.tolerance)

    def test_it_says_what_runs(self, runtime: Runtime, model: ExportedModel) -> None:
        with runtime.compile(model, {"batch": 1}, ONE_THREAD) as session:
            execution = session.execution
            assert execution.precision == self.precision
            assert execution.provider
            assert execution.device_name
            assert execution.call_path
            assert execution.elsewhere == ()
            assert (execution.clock, execution.boundary) == ("wall", "host")

    def test_it_translates_what_a_run_raised(self, runtime: Runtime, graphs: Graphs) -> None:
        with runtime.compile(graphs.dense, {"batch": 1}, ONE_THREAD) as session:
            fault = session.fault(RuntimeError("no luck"))
        assert isinstance(fault, RuntimeFault)
        assert "no luck" in str(fault)

    def test_a_device_that_is_not_there_is_refused(self, runtime: Runtime, graphs: Graphs) -> None:
        keys = [device.key for device in runtime.devices()]
        assert len(set(keys)) == len(keys)
        for settings in (Settings(device="nowhere"), Settings(release="never")):
            with pytest.raises(NotAvailable):
                runtime.refuse(graphs.dense, {"batch": 1}, settings)

    def test_it_is_called_as_it_is_registered(self, runtime: Runtime) -> None:
        assert runtime.name == self.name
        assert runtime.summary
        assert "\n" not in runtime.summary

    def test_availability_and_devices_are_told_without_the_engine(self) -> None:
        script = (
            "import importlib, sys; "
            f"sys.path[:] = {sys.path!r}; "
            f"name = {install_layout.module_name('runtimes.registry')!r}; "
            "registry = importlib.import_module(name); "
            f"runtime = registry.load({self.name!r}); "
            "print(type(runtime.availability()).__name__, runtime.availability().version); "
            "runtime.devices(); "
            f"print(*[name for name in {sorted(self.engines)!r} if name in sys.modules])"
        )
        process = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        )
        answer, imported_modules = process.stdout.split("\n")[:2]
        kind, version = answer.split(" ", 1)
        assert kind == Available.__name__
        assert version
        assert imported_modules == ""
