"""A model of Hugging Face on this disk: `hf:FOLDER`, or a name in the cache of transformers.

Never the network: what is not here is refused. The class and the inputs follow from the model's
own config and the signature of its forward, as a factory of the user's would give them.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporters.complaint import first_line
from exporters.factory_file import HUGGING_FACE
from exporters.regular import user_path
from exporters.types import ExportError

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
    taken = inspect.signature(module.forward).parameters
    main = module.main_input_name
    wanted = [name for name in ("input_ids", "pixel_values") if name in taken]
    if main not in wanted or main == "pixel_values":
        wanted = [main]
    inputs: dict[str, Tensor] = {}
    axes: dict[str, list[str | None]] = {}
    for name in wanted:
        match name:
            case "input_ids":
                inputs |= _tokens(config, taken)
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
    if wanted == ["input_ids", "pixel_values"] and hasattr(config, "image_token_id"):
        tokens = _with_pictures(module, inputs)
        inputs |= tokens
        axes |= {token: ["batch", None] for token in tokens}
    if config.is_encoder_decoder and "decoder_input_ids" in taken:
        inputs["decoder_input_ids"] = _ids(config, min(_TOKENS, _length(config)))
        axes["decoder_input_ids"] = ["batch", "decoder_sequence"]
    return inputs, axes


def _tokens(config: Any, taken: Any) -> dict[str, Tensor]:
    """Ids of the vocabulary, all of them attended to, in one segment."""
    import torch

    text = config.get_text_config()
    count = min(_TOKENS, _length(text))
    inputs = {"input_ids": _ids(text, count)}
    if "attention_mask" in taken:
        inputs["attention_mask"] = torch.ones(1, count, dtype=torch.int64)
    if "token_type_ids" in taken and getattr(text, "type_vocab_size", None):
        inputs["token_type_ids"] = torch.zeros(1, count, dtype=torch.int64)
    return inputs


def _with_pictures(module: Any, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """The ids after those that stand for a picture, one for each of its features, and the mask.

    Their number follows from the picture's size, so that the sequence is not open.
    """
    import torch

    picture = module.config.image_token_id
    with torch.inference_mode():
        found = module.get_image_features(pixel_values=inputs["pixel_values"]).pooler_output
    parts = [found] if isinstance(found, torch.Tensor) else found
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
    told = [getattr(config, name, None) for name in names]
    return min([max(1, count - 2) for count in told if isinstance(count, int)] or [_TOKENS])


def _picture(config: Any) -> Tensor:
    import torch

    own: Any = getattr(config, "vision_config", config)
    size = own.image_size
    height, width = size if isinstance(size, tuple | list) else (size, size)
    return torch.randn(1, getattr(own, "num_channels", _COLOURS), height, width)


def _spectrum(config: Any) -> Tensor:
    import torch

    bins, positions = config.num_mel_bins, config.max_source_positions
    return torch.randn(1, bins, 2 * positions)
