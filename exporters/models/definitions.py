"""The models of the VOLLO tables, low-latency LSTMs, the MLP and the character-level CNN.

Told without torch: a definition names its module and gives its inputs, axes and state.
"""

from __future__ import annotations

from exporters.types import Definition, Factory, StatePair, TensorSpec

_CNN_SOURCE = "VOLLO CNN latency tables"
_LSTM_SOURCE = "VOLLO LSTM latency tables"
_KERNEL = 8
_LSTM_OUTPUTS = 32
_SEQUENCE = 16
_MLP_WIDTHS = (256, 384, 384, 128)

_CNNS = {"cnn_tiny": (3, 128), "cnn_small": (3, 256), "cnn_med": (6, 256)}
_LSTMS = {
    "lstm_tiny": (2, 128),
    "lstm_small": (3, 256),
    "lstm_med": (3, 480),
    "lstm_med_deep": (6, 320),
    "lstm_large": (3, 960),
}

_LOWLAT_SOURCE = "dl-lowlat-infer: its published sizes"
# Layers, steps of a window, inputs, units.
_LOWLAT = {"small": (2, 64, 128, 96), "medium": (3, 96, 192, 160), "large": (4, 128, 512, 736)}


def _floats(name: str, *shape: int | str) -> TensorSpec:
    return TensorSpec(name, "float32", shape)


def _state_pairs(states: tuple[TensorSpec, ...]) -> tuple[StatePair, ...]:
    return tuple(StatePair(state.name, f"{state.name}_out") for state in states)


def _cnn(name: str, layers: int, channels: int) -> tuple[Definition, Definition]:
    """The streaming step and the whole sequence of one CNN, with the same weights."""
    arguments = {"layers": layers, "channels": channels, "kernel_size": _KERNEL}
    states = tuple(
        _floats(f"state_{layer}", "batch", channels, _KERNEL - 1) for layer in range(layers)
    )
    pairs = _state_pairs(states)
    step = Definition(
        name=name,
        suite="vollo-cnn",
        family="cnn",
        source=_CNN_SOURCE,
        factory=Factory("exporters.models.networks:CnnStep", arguments),
        inputs=(_floats("x", "batch", channels, 1), *states),
        outputs=("y", *(pair.output for pair in pairs)),
        axes={"batch": 1},
        states=pairs,
        layers=layers,
        width=channels,
    )
    sequence = Definition(
        name=f"{name}_seq",
        suite="vollo-cnn",
        family="cnn",
        source=_CNN_SOURCE,
        factory=Factory("exporters.models.networks:CnnSequence", arguments),
        inputs=(_floats("x", "batch", channels, "sequence"),),
        outputs=("y",),
        axes={"batch": 1, "sequence": _SEQUENCE},
        layers=layers,
        width=channels,
    )
    return step, sequence


def _lstm_states(layers: int, hidden_size: int) -> tuple[TensorSpec, ...]:
    return tuple(
        _floats(f"{part}_{layer}", 1, "batch", hidden_size)
        for layer in range(layers)
        for part in "hc"
    )


def _lstm(name: str, layers: int, hidden_size: int) -> tuple[Definition, Definition]:
    """The streaming step and the whole sequence of one LSTM, with the same weights."""
    arguments = {"layers": layers, "hidden": hidden_size, "outputs": _LSTM_OUTPUTS}
    states = _lstm_states(layers, hidden_size)
    pairs = _state_pairs(states)
    step = Definition(
        name=name,
        suite="vollo-lstm",
        family="lstm",
        source=_LSTM_SOURCE,
        factory=Factory("exporters.models.networks:LstmStep", arguments),
        inputs=(_floats("x", "batch", 1, hidden_size), *states),
        outputs=("y", *(pair.output for pair in pairs)),
        axes={"batch": 1},
        states=pairs,
        layers=layers,
        width=hidden_size,
    )
    sequence = Definition(
        name=f"{name}_seq",
        suite="vollo-lstm",
        family="lstm",
        source=_LSTM_SOURCE,
        factory=Factory("exporters.models.networks:LstmSequence", arguments),
        inputs=(_floats("x", "batch", "sequence", hidden_size),),
        outputs=("y",),
        axes={"batch": 1, "sequence": _SEQUENCE},
        layers=layers,
        width=hidden_size,
    )
    return step, sequence


def _lowlat(
    size: str, layers: int, steps: int, inputs: int, units: int
) -> tuple[Definition, Definition]:
    """A fresh window for each run, and one new step with the state kept, with the same weights."""
    arguments = {"layers": layers, "hidden": units, "outputs": 1, "inputs": inputs}
    states = _lstm_states(layers, units)
    pairs = _state_pairs(states)
    window = Definition(
        name=f"lowlat_{size}_window",
        suite="lowlat-lstm",
        family="lstm",
        source=_LOWLAT_SOURCE,
        factory=Factory("exporters.models.networks:LstmWindow", arguments),
        inputs=(_floats("x", "batch", "sequence", inputs),),
        outputs=("y",),
        axes={"batch": 1, "sequence": steps},
        layers=layers,
        width=units,
        in_fp64=True,
    )
    step = Definition(
        name=f"lowlat_{size}_step",
        suite="lowlat-lstm",
        family="lstm",
        source=_LOWLAT_SOURCE,
        factory=Factory("exporters.models.networks:LstmStep", arguments),
        inputs=(_floats("x", "batch", 1, inputs), *states),
        outputs=("y", *(pair.output for pair in pairs)),
        axes={"batch": 1},
        states=pairs,
        layers=layers,
        width=units,
        in_fp64=True,
    )
    return window, step


_MLP = Definition(
    name="mlp",
    suite="mlp",
    family="mlp",
    source="MLP 256-384-384-128",
    factory=Factory("exporters.models.networks:Mlp", {"widths": list(_MLP_WIDTHS)}),
    inputs=(_floats("x", "batch", _MLP_WIDTHS[0]),),
    outputs=("y",),
    axes={"batch": 1},
)

# The text is one-hot in use; its arithmetic is dense, so uniform data costs the same and
# exercises every weight.
_CHAR_CNN = Definition(
    name="char_cnn",
    suite="char-cnn",
    family="char-cnn",
    source="character-level CNN optimisation history",
    factory=Factory("exporters.models.networks:CharCnn"),
    inputs=(TensorSpec("x", "float32", ("batch", 70, 1014), low=0.0, high=1.0),),
    outputs=("y",),
    axes={"batch": 1},
)

DEFINITIONS: tuple[Definition, ...] = (
    *(form for name, (layers, width) in _CNNS.items() for form in _cnn(name, layers, width)),
    *(form for name, (layers, width) in _LSTMS.items() for form in _lstm(name, layers, width)),
    *(form for size, sizes in _LOWLAT.items() for form in _lowlat(size, *sizes)),
    _MLP,
    _CHAR_CNN,
)
