"""Torch modules of users: built by a factory in a file, or from a Hugging Face folder."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporters.file_access import user_path
from exporters.model_names import FORM, HUGGING_FACE, is_hugging_face, run_file
from exporters.module_adapter import Call, call_of, refuse_elsewhere
from exporters.types import Dimension, ExportError, first_line, nearest

if TYPE_CHECKING:
    from torch import Tensor, nn


_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
_TOKENS = 128
"""How many tokens the example has, or as many as the model takes."""
_SAMPLES = 16_000
"""A second of sound at the rate of the speech models."""
_COLOURS = 3
_FACTORY = "write a factory that returns the module and its inputs"


class NoTransformers(ExportError):
    """The package that reads such a folder is not installed."""

    status = "unavailable"


def resolved(model: str) -> str:
    """The name that holds wherever a process runs: a folder's path is made absolute."""
    path = user_path(model.removeprefix(HUGGING_FACE))
    return f"{HUGGING_FACE}{path.resolve()}" if path.is_dir() else model


def title(model: str) -> str:
    """What the model is called in a row: the folder's or the model's own name."""
    return Path(model.removeprefix(HUGGING_FACE)).name


def load(model: str) -> tuple[nn.Module, dict[str, Tensor], dict[str, Any]]:
    """The module, example inputs and their axes; ExportError where the folder gives no model.

    NoTransformers (status `unavailable`) without the package.
    """
    if importlib.util.find_spec("transformers") is None:
        raise NoTransformers(
            f"{model} needs the package transformers, which is not installed",
            "pip install transformers",
        )
    import torch

    os.environ |= dict.fromkeys(_OFFLINE, "1")
    _hide_broken_torchvision()
    transformers: Any = importlib.import_module("transformers")
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    name = model.removeprefix(HUGGING_FACE)
    try:
        config = transformers.AutoConfig.from_pretrained(
            name, local_files_only=True, trust_remote_code=False
        )
        kinds = [getattr(transformers, kind, None) for kind in config.architectures or ()]
        kind: Any = next(filter(None, kinds), transformers.AutoModel)
        # What lies in a narrower type is taken in float32, as a plan's precisions say the rest.
        module = kind.from_pretrained(
            name,
            config=config,
            dtype=torch.float32,
            local_files_only=True,
            use_safetensors=True,  # other weights are pickles, which run code when they are read
        )
    except Exception as error:
        raise ExportError(
            f"transformers cannot load {name} from this disk ({first_line(error)})",
            "give the folder that save_pretrained wrote, its weights in .safetensors, or a name in "
            "its local cache",
        ) from error
    # What a cache of keys and values holds is state between calls, and one call is measured.
    module.config.use_cache = False
    try:
        inputs, axes = _inputs(module)
    except ExportError:
        raise
    except Exception as error:
        raise ExportError(
            f"what {name} takes does not follow from its config ({first_line(error)})", _FACTORY
        ) from error
    return module, inputs, {"axes": axes}


def _hide_broken_torchvision() -> None:
    """transformers asks whether torchvision is installed, not whether it fits the torch here."""
    if importlib.util.find_spec("torchvision") is None:
        return
    try:
        importlib.import_module("torchvision")
    except Exception:
        sys.modules["torchvision"] = None  # type: ignore[assignment]


def _inputs(module: Any) -> tuple[dict[str, Tensor], dict[str, list[str | None]]]:
    """An example of each input that forward needs, by what the config says of its size."""
    import torch

    config = module.config
    parameters = inspect.signature(module.forward).parameters
    main = module.main_input_name
    input_names = [name for name in ("input_ids", "pixel_values") if name in parameters]
    if main not in input_names or main == "pixel_values":
        input_names = [main]
    inputs: dict[str, Tensor] = {}
    axes: dict[str, list[str | None]] = {}
    for name in input_names:
        match name:
            case "input_ids":
                inputs |= _tokens(config, parameters)
                axes |= {token: ["batch", "sequence"] for token in inputs}
            case "pixel_values":
                inputs[name], axes[name] = _picture(config), ["batch"]
            case "input_values":
                inputs[name], axes[name] = torch.randn(1, _SAMPLES), ["batch"]
            case "input_features":
                inputs[name], axes[name] = _spectrum(config), ["batch"]
            case _:
                raise ExportError(
                    f"{type(module).__name__} takes {name!r}, and no example of it is known",
                    _FACTORY,
                )
    if input_names == ["input_ids", "pixel_values"] and hasattr(config, "image_token_id"):
        tokens = _with_pictures(module, inputs)
        inputs |= tokens
        axes |= {token: ["batch", None] for token in tokens}
    if config.is_encoder_decoder and "decoder_input_ids" in parameters:
        inputs["decoder_input_ids"] = _ids(config, min(_TOKENS, _length(config)))
        axes["decoder_input_ids"] = ["batch", "decoder_sequence"]
    return inputs, axes


def _tokens(config: Any, parameters: Any) -> dict[str, Tensor]:
    """Ids of the vocabulary, all of them attended to, in one segment."""
    import torch

    text = config.get_text_config()
    count = min(_TOKENS, _length(text))
    inputs = {"input_ids": _ids(text, count)}
    if "attention_mask" in parameters:
        inputs["attention_mask"] = torch.ones(1, count, dtype=torch.int64)
    if "token_type_ids" in parameters and getattr(text, "type_vocab_size", None):
        inputs["token_type_ids"] = torch.zeros(1, count, dtype=torch.int64)
    return inputs


def _with_pictures(module: Any, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """The ids after those that stand for a picture, one for each of its features, and the mask.

    Their number follows from the picture's size, so that the sequence is not open.
    """
    import torch

    picture = module.config.image_token_id
    with torch.inference_mode():
        image_features = module.get_image_features(
            pixel_values=inputs["pixel_values"]
        ).pooler_output
    parts = [image_features] if isinstance(image_features, torch.Tensor) else image_features
    features = sum(part.shape[:-1].numel() for part in parts)
    text = inputs["input_ids"]
    places = torch.full((1, features), picture)
    tokens = {"input_ids": torch.cat([places, text[text != picture][None]], 1)}
    if "attention_mask" in inputs:
        tokens["attention_mask"] = torch.ones_like(tokens["input_ids"])
    if "token_type_ids" in inputs:
        tokens["token_type_ids"] = torch.zeros_like(tokens["input_ids"])
    return tokens


def _ids(config: Any, count: int) -> Tensor:
    import torch

    return torch.randint(0, config.vocab_size, (1, count))


def _length(config: Any) -> int:
    """How many positions the model has, less two that some keep for padding."""
    names = ("max_position_embeddings", "max_target_positions")
    limits = [getattr(config, name, None) for name in names]
    return min([max(1, count - 2) for count in limits if isinstance(count, int)] or [_TOKENS])


def _picture(config: Any) -> Tensor:
    import torch

    vision_config: Any = getattr(config, "vision_config", config)
    size = vision_config.image_size
    height, width = size if isinstance(size, tuple | list) else (size, size)
    return torch.randn(1, getattr(vision_config, "num_channels", _COLOURS), height, width)


def _spectrum(config: Any) -> Tensor:
    import torch

    bins, positions = config.num_mel_bins, config.max_source_positions
    return torch.randn(1, bins, 2 * positions)


BATCH = "batch"


@dataclass(frozen=True, slots=True)
class Brought:
    """A module in evaluation mode, how it is called, and the shape of each input.

    A dimension of `shapes` is a size, or the name of the axis that sets it.
    """

    module: nn.Module
    call: Call
    shapes: tuple[tuple[Dimension, ...], ...]


def is_brought(target: str) -> bool:
    """Whether a factory's target is a user's own, and not a module of the catalogue."""
    return is_hugging_face(target) or target.rpartition(":")[0].endswith(".py")


def bring(target: str, seed: int) -> Brought:
    """Build what `path/file.py:factory` or `hf:PATH` names, its random values from the seed.

    ExportError says in one sentence what the factory did wrong, or why the folder is no model.
    """
    import torch

    torch.manual_seed(seed)
    if is_hugging_face(target):
        return brought_of(load(target), target)
    return brought_of(_call_factory(target), _short(target))


def brought_of(factory_result: Any, label: str) -> Brought:
    """What a factory returned, in evaluation mode; ExportError if it is no module with inputs."""
    from torch import nn

    match factory_result:
        case (nn.Module() as module, example):
            options: Mapping[str, Any] = {}
        case (nn.Module() as module, example, Mapping() as options):
            pass
        case _:
            raise ExportError(f"{label} returned {_describe(factory_result)}", FORM)
    unknown_options = [name for name in options if name != "axes"]
    if unknown_options:
        raise ExportError(
            f"{label} gives the option {unknown_options[0]!r}", "the one there is is 'axes'"
        )
    try:
        call = call_of(module, example)
    except (TypeError, ValueError) as error:
        raise ExportError(
            f"the example inputs of {label} do not fit its module's forward ({error})", FORM
        ) from error
    refuse_elsewhere(call, module, label)
    return Brought(module.eval(), call, _shapes(call, options, label))


def _short(target: str) -> str:
    path, _, function = target.rpartition(":")
    return f"{Path(path).name}:{function}"


def _call_factory(target: str) -> Any:
    """What the factory returns; ExportError with the line of the user's file if it raises."""
    file, _, function = target.rpartition(":")
    try:
        return getattr(run_file(Path(file)), function)()
    except Exception as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
        at = f" in line {lines[-1]}" if lines else ""
        raise ExportError(
            f"{_short(target)} raised {type(error).__name__}: {error}{at}",
            FORM if isinstance(error, TypeError) else "correct that line",
        ) from error


def _describe(made: object) -> str:
    """What a factory returned instead of what it should, in words."""
    if made is None:
        return "None"
    if inspect.isgenerator(made):
        return "a generator: write return instead of yield"
    if isinstance(made, tuple):
        kinds = ", ".join(type(part).__name__ for part in made)
        return f"no module with inputs but ({kinds})"
    return f"no module with inputs but a {type(made).__name__}"


def _shapes(
    call: Call, options: Mapping[str, Any], label: str
) -> tuple[tuple[Dimension, ...], ...]:
    """Every input's shape with its named axes.

    Without `axes` the leading dimension is the batch, where all inputs that have one agree in
    its size: edges [2, e] beside nodes [n, f] have no batch.
    """
    sizes = [tuple(example.shape) for example in call.examples]
    if "axes" not in options:
        leading = {shape[0] for shape in sizes if shape}
        return tuple((BATCH, *s[1:]) if s and len(leading) == 1 else s for s in sizes)
    axes = options["axes"]
    if not isinstance(axes, Mapping):
        raise ExportError(
            f"the axes that {label} gives are a {type(axes).__name__}",
            'write {"axes": {"input_ids": ["batch", "sequence"]}}',
        )
    for name in axes:
        if name not in call.names:
            remedy = nearest(str(name), call.names, f"it has {', '.join(call.names)}")
            raise ExportError(f"{label} names the axes of {name!r}, which is no input", remedy)
    shapes = tuple(
        _named_sizes(name, size, axes.get(name, ()), label)
        for name, size in zip(call.names, sizes, strict=True)
    )
    _refuse_two_sizes(call, shapes, sizes, label)
    return shapes


def _named_sizes(
    name: str, sizes: Sequence[int], axes: object, label: str
) -> tuple[Dimension, ...]:
    """The shape of one input: a name or None for each dimension, or {position: name}."""
    given: Any = axes
    if isinstance(axes, str) or not isinstance(axes, Mapping | Sequence):
        given = [axes]
    pairs = given.items() if isinstance(given, Mapping) else enumerate(given)
    named_axes = {place: axis for place, axis in pairs if axis is not None}
    for place, axis in named_axes.items():
        is_there = isinstance(place, int) and place in range(len(sizes))
        if not isinstance(axis, str) or not is_there:
            raise ExportError(
                f"{label} gives {name!r} of {len(sizes)} dimensions the axes {axes!r}",
                "give a name, or None for a fixed size, for each of its dimensions in order",
            )
    return tuple(named_axes.get(place, size) for place, size in enumerate(sizes))


def _refuse_two_sizes(
    call: Call,
    shapes: Sequence[Sequence[Dimension]],
    sizes: Sequence[Sequence[int]],
    label: str,
) -> None:
    sizes_by_axis: dict[str, tuple[int, str]] = {}
    for name, shape, actual in zip(call.names, shapes, sizes, strict=True):
        for axis, size in zip(shape, actual, strict=True):
            if isinstance(axis, str) and sizes_by_axis.setdefault(axis, (size, name))[0] != size:
                other, holder = sizes_by_axis[axis]
                raise ExportError(
                    f"the axis {axis!r} of {label} is {other} in {holder!r} and {size} in {name!r}",
                    "give example inputs whose sizes agree, or axes of different names",
                )
