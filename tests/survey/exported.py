"""Networks of other libraries as .onnx files, written in those libraries' usual ways.

`python -m tests.survey.right` makes them and judges their outputs. Weights are random, the same in
every process; nothing is downloaded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))  # as `--models` does for factories

import numpy as np
import onnx
import torch
import transformers as hf
from onnxruntime import quantization
from torch import nn

from tests.survey import fitted
from tests.survey import hugging_face as hub
from tests.survey import image_nets as images

Maker = Callable[[Path], None]
Build = Callable[[], "tuple[nn.Module, tuple[torch.Tensor, ...]]"]


class Positional(nn.Module):
    """A module of transformers that takes tensors in a row and gives the tensors of its output."""

    def __init__(self, module: nn.Module, names: list[str], cached: int = 0, **settings: Any):
        super().__init__()
        self.module, self.names, self.cached, self.settings = module, names, cached, settings

    def forward(self, *tensors: torch.Tensor) -> Any:
        named = dict(zip(self.names, tensors, strict=False))
        if self.cached:
            past = tensors[len(self.names) :]
            pairs = list(zip(past[::2], past[1::2], strict=True))
            cache = hf.DynamicCache(pairs)
            given = self.module(**named, past_key_values=cache, use_cache=True)
            layers = given.past_key_values.layers
            return (given.logits, *(t for layer in layers for t in (layer.keys, layer.values)))
        given = self.module(**named, **self.settings)
        if isinstance(given, torch.Tensor | tuple):
            return given
        return tuple(value for value in given.values() if isinstance(value, torch.Tensor))


def of(make: Callable[[], Any]) -> Build:
    """A factory of the survey, with tensors in and out."""

    def build() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
        module, inputs = make()
        if isinstance(module, hf.PreTrainedModel):
            module = Positional(module, list(inputs), return_dict=True)
        return module, tuple(inputs.values())

    return build


def settle(module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
    """Give batch norms the statistics of what they see, as a trained network has them: with those
    of a new one signals vanish, and classes are the same for all inputs. Heads of zeros are
    drawn."""
    for weight in module.parameters():
        if weight.dim() > 1 and not weight.any():
            nn.init.normal_(weight, std=0.1)
    norms = [norm for norm in module.modules() if isinstance(norm, nn.modules.batchnorm._BatchNorm)]
    if norms and inputs[0].dtype == torch.float32:
        for norm in norms:
            norm.momentum = 1.0
        with torch.no_grad():
            module.train()(*(torch.randn(32, *x.shape[1:]) for x in inputs))


def torch_file(build: Build, dynamo: bool, path: Path, **settings: Any) -> None:
    """Exported by torch's new exporter or its old one; a whole network, not its training mode."""
    torch.manual_seed(0)
    torch.backends.mha.set_fastpath_enabled(False)  # which no exporter knows
    module, inputs = build()
    settle(module, inputs)
    if dynamo:
        settings = {"external_data": False, "verbose": False, **settings}
    else:
        settings = {"opset_version": 17, **settings}
    with torch.no_grad():
        torch.onnx.export(module.eval(), inputs, path, dynamo=dynamo, **settings)


def new(build: Build, **settings: Any) -> Maker:
    return lambda path: torch_file(build, True, path, **settings)


def old(build: Build, **settings: Any) -> Maker:
    return lambda path: torch_file(build, False, path, **settings)


def with_cache(make: Callable[[], Any], heads: int, width: int = 8) -> Build:
    """A decoder that has seen five tokens and reads one more."""

    def build() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
        module, _ = make()
        module.config.use_cache = True
        past = [torch.randn(1, heads, 5, width) for _ in range(2 * hub.LAYERS)]
        names = ["input_ids", "attention_mask"]
        ids, mask = torch.tensor([[7]]), torch.ones(1, 6, dtype=torch.int64)
        return Positional(module, names, cached=hub.LAYERS), (ids, mask, *past)

    return build


def t5() -> Any:
    sizes = {"vocab_size": 100, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_heads": 4}
    module = hf.T5ForConditionalGeneration(hf.T5Config(**sizes, num_layers=2))
    names = ["input_ids", "decoder_input_ids"]
    ids = torch.arange(12)[None] * 7 % 100
    return Positional(module, names, use_cache=False, return_dict=True), (ids, ids[:, :5])


def whisper() -> Any:
    sizes = {"encoder_layers": 1, "encoder_attention_heads": 4, "decoder_layers": 1}
    sizes |= {"decoder_attention_heads": 4, "d_model": 32, "encoder_ffn_dim": 64}
    ids = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    config = hf.WhisperConfig(
        vocab_size=100, num_mel_bins=16, max_source_positions=40, decoder_ffn_dim=64, **sizes, **ids
    )
    names = ["input_features", "decoder_input_ids"]
    module = hf.WhisperForConditionalGeneration(config)
    example = torch.randn(1, 16, 80), torch.tensor([[1, 5, 9]])
    return Positional(module, names, use_cache=False, return_dict=True), example


class Recurrent(nn.Module):
    def __init__(self, kind: Callable[..., nn.Module], **settings: Any) -> None:
        super().__init__()
        self.cell = kind(16, 32, num_layers=2, batch_first=True, **settings)
        self.head = nn.Linear(64 if settings.get("bidirectional") else 32, 10)

    def forward(self, x: torch.Tensor) -> Any:
        y, state = self.cell(x)
        return self.head(y), state


def recurrent(kind: Callable[..., nn.Module], **settings: Any) -> Any:
    return Recurrent(kind, **settings), (torch.randn(2, 7, 16),)


class Encoder(nn.Module):
    """torch's own encoder with a causal mask, and padding that a second input marks."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
        mask = torch.full((x.shape[1],) * 2, float("-inf")).triu(1)
        return self.layers(x, mask=mask, src_key_padding_mask=padding, is_causal=False)


def encoder() -> Any:
    padding = torch.zeros(2, 9, dtype=torch.bool)
    padding[1, 6:] = True
    return Encoder(), (torch.randn(2, 9, 32), padding)


class Segmenter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = images.lraspp()[0]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)["out"].argmax(1)


class Detector(nn.Module):
    """Boxes and scores of a feature map, the best fifty of them, and those that do not overlap."""

    def __init__(self, suppress: bool) -> None:
        super().__init__()
        self.suppress = suppress
        self.net = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.SiLU(), nn.Conv2d(16, 9, 3, 2, 1))

    def forward(self, x: torch.Tensor) -> Any:
        y = self.net(x).flatten(2).transpose(1, 2)
        centre, size = y[..., :2].sigmoid(), y[..., 2:4].exp() * 0.1
        boxes = torch.cat([centre - size, centre + size], -1)
        scores = y[..., 4:].softmax(-1)
        best, labels = scores.max(-1)
        values, places = best.topk(50)
        boxes = boxes.gather(1, places[..., None].expand(-1, -1, 4))
        if not self.suppress:
            return values, labels.gather(1, places), boxes
        return Suppressed.apply(boxes, values[:, None]), boxes  # type: ignore[no-untyped-call]


class Suppressed(torch.autograd.Function):
    """As exports of detectors have it: a symbol for the old exporter; torch sees any result."""

    @staticmethod
    def forward(ctx: Any, boxes: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        return torch.zeros(7, 3, dtype=torch.int64)

    @staticmethod
    def symbolic(g: Any, boxes: Any, scores: Any) -> Any:
        limits = torch.tensor([20]), torch.tensor([0.5]), torch.tensor([0.2])
        constants = [g.op("Constant", value_t=limit) for limit in limits]
        return g.op("NonMaxSuppression", boxes, scores, *constants)


class UNet(nn.Module):
    """Down, up by transposed convolution and by interpolation, with the norms of such networks."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.GroupNorm(4, 16), nn.SiLU())
        self.middle = nn.Sequential(nn.Conv2d(16, 16, 3, 1, 1), nn.InstanceNorm2d(16), nn.Mish())
        self.up = nn.ConvTranspose2d(32, 8, 4, 2, 1)
        self.head = nn.Conv2d(8, 3, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = self.down(x)
        b = self.middle(nn.functional.max_pool2d(a, 2))
        b = nn.functional.interpolate(b, scale_factor=2.0, mode="bilinear")
        return torch.tanh(self.head(self.up(torch.cat([a, b], 1))))


class Looped(nn.Module):
    """A cell in a loop over as many steps as there are, and a branch: by torch's script."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.head = nn.Linear(24, 16), nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.zeros(x.shape[0], 16)
        for step in range(x.shape[1]):
            h = torch.tanh(self.cell(torch.cat([x[:, step], h], 1)))
        h = self.head(h)[:, :4] if bool(h.sum() > 100.0) else self.head(-h)
        return h


class Chosen(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> Any:
        return torch.cond(x.sum() > 0, lambda x: self.a(x).relu(), self.b, (x,))


class Spectral(nn.Module):
    """A spectrogram and a small network on it."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(33, 16, 3), nn.GELU(), nn.Conv1d(16, 4, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        window = torch.hann_window(64)
        s = torch.stft(x, 64, 16, window=window, return_complex=False)
        return self.net((s.pow(2).sum(-1) + 1e-3).log())


class Tabular(nn.Module):
    """Embeddings of categories and numbers, as recommenders have them."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(50, 8, mode="sum") for _ in range(3))
        self.net = nn.Sequential(nn.Linear(37, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid())

    def forward(self, ids: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        parts = [table(ids[:, n : n + 1]) for n, table in enumerate(self.tables)]
        return self.net(torch.cat([*parts, x], 1))


def half(build: Build, kind: torch.dtype) -> Build:
    def build_half() -> Any:
        module, inputs = build()
        halves = [x.to(kind) if x.is_floating_point() else x for x in inputs]
        return module.to(kind), tuple(halves)

    return build_half


class Batches(quantization.CalibrationDataReader):  # type: ignore[misc]
    def __init__(self, path: Path) -> None:
        (x,) = onnx.load(path).graph.input
        shape = [d.dim_value for d in x.type.tensor_type.shape.dim]
        rng = np.random.default_rng(0)
        self.rows = iter([{x.name: rng.normal(size=shape).astype(np.float32)} for _ in range(4)])

    def get_next(self) -> Any:
        return next(self.rows, None)


def after(make: Maker, change: Callable[[Path, Path], None]) -> Maker:
    """A file that another library has changed."""

    def changed(path: Path) -> None:
        plain = path.with_suffix(".plain")
        make(plain)
        change(plain, path)
        plain.unlink()

    return changed


def static(kind: str, plain: Path, path: Path, **settings: Any) -> None:
    made = path.with_suffix(".prepared")
    quantization.shape_inference.quant_pre_process(plain, made)
    settings["quant_format"] = quantization.QuantFormat[kind]
    quantization.quantize_static(made, path, Batches(made), **settings)
    made.unlink()


def dynamic(plain: Path, path: Path) -> None:
    quantization.quantize_dynamic(plain, path)


def four_bits(plain: Path, path: Path) -> None:
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    quantizer = MatMulNBitsQuantizer(onnx.load(plain), block_size=32, is_symmetric=True)
    quantizer.process()
    onnx.save(quantizer.model.model, path)


def in_half(plain: Path, path: Path, keep: bool = True) -> None:
    from onnxruntime.transformers.float16 import convert_float_to_float16

    onnx.save(convert_float_to_float16(onnx.load(plain), keep_io_types=keep), path)


def fused(plain: Path, path: Path) -> None:
    from onnxruntime.transformers.optimizer import optimize_model

    made = optimize_model(str(plain), "bert", num_heads=4, hidden_size=32, opt_level=0)
    made.save_model_to_file(str(path))


def scikit(steps: fitted.Steps, path: Path) -> None:
    """Converted with the converter's own settings: ZipMap is one."""
    from skl2onnx import to_onnx

    estimator, data, _ = fitted.fit(steps, rows=200)
    onnx.save(to_onnx(estimator, data[:1], target_opset=18), path)


def boosted(name: str, path: Path) -> None:
    onnx.save(fitted.converted(name), path)


def lightgbm(path: Path) -> None:
    from onnxmltools import convert_lightgbm
    from onnxmltools.convert.common.data_types import FloatTensorType

    steps = {"lightgbm.LGBMClassifier": {"n_estimators": 10, "verbose": -1}}
    model, _, _ = fitted.fit(steps, rows=200)
    onnx.save(convert_lightgbm(model, initial_types=[("x", FloatTensorType([None, 10]))]), path)


_SEEDED = {"random_state": 0}
_ESTIMATORS: Mapping[str, fitted.Steps] = {
    "logistic_regression": {**fitted.SCALED, "sklearn.linear_model.LogisticRegression": {}},
    "random_forest": fitted.ESTIMATORS["random_forest"],
    "gradient_boosting": {"sklearn.ensemble.GradientBoostingRegressor": _SEEDED},
    "perceptron": {
        **fitted.SCALED,
        "sklearn.neural_network.MLPClassifier": {"hidden_layer_sizes": (16,), **_SEEDED},
    },
    "support_vectors": {**fitted.SCALED, "sklearn.svm.SVC": {"probability": True, **_SEEDED}},
    "support_regressor": fitted.ESTIMATORS["support_vectors"],
    "neighbours": {"sklearn.neighbors.KNeighborsClassifier": {"n_neighbors": 3}},
    "naive_bayes": {"sklearn.naive_bayes.GaussianNB": {}},
    "components_ridge": {
        **fitted.SCALED,
        "sklearn.decomposition.PCA": {"n_components": 4},
        "sklearn.linear_model.Ridge": {},
    },
    "clusters": {"sklearn.cluster.KMeans": {"n_clusters": 4, "n_init": 1, **_SEEDED}},
}


def segmenter() -> Any:
    return Segmenter(), (torch.randn(1, 3, 64, 64),)


def detector(suppress: bool) -> Any:
    return Detector(suppress), (torch.randn(1, 3, 64, 64),)


def makers() -> Mapping[str, Maker]:
    """By name: the library, the network and how it was written."""
    bert = old(of(hub.bert_classifier), opset_version=17)
    found: dict[str, Maker] = {
        "torchvision/resnet18-old": old(of(images.resnet18)),
        "torchvision/mobilenet_v3-new": new(of(images.mobilenet_v3_small)),
        "torchvision/efficientnet-old": old(of(images.efficientnet_b0)),
        "torchvision/shufflenet-new": new(of(images.shufflenet_v2)),
        "torchvision/vit-old": old(of(images.vision_transformer)),
        "torchvision/swin-new": new(of(images.swin)),
        "torchvision/lraspp-argmax-old": old(segmenter),
        "torchvision/lraspp-argmax-new": new(segmenter),
        "timm/mobilevit-old": old(of(images.mobilevit)),
        "timm/ghostnet-new": new(of(images.ghostnet)),
        "timm/efficientvit-old": old(of(images.efficientvit)),
        "timm/edgenext-new": new(of(images.edgenext)),
        "transformers/bert-old": bert,
        "transformers/bert-new-functions": new(of(hub.bert), optimize=False),
        "transformers/distilbert-new": new(of(hub.distilbert)),
        "transformers/deberta-new": new(of(hub.deberta)),
        "transformers/gpt2-cache-new": new(with_cache(hub.gpt2, 4)),
        "transformers/llama-cache-old": old(with_cache(hub.llama, 2)),
        "transformers/llama-cache-new": new(with_cache(hub.llama, 2)),
        "transformers/mamba-new": new(of(hub.mamba)),
        "transformers/t5-new": new(t5),
        "transformers/whisper-new": new(whisper),
        "transformers/clip-new": new(of(hub.clip)),
        "transformers/segformer-old": old(of(hub.segformer)),
        "transformers/wav2vec2-new": new(of(hub.wav2vec2)),
        "torch/lstm-old": old(lambda: recurrent(nn.LSTM, bidirectional=True)),
        "torch/lstm-new": new(lambda: recurrent(nn.LSTM, bidirectional=True)),
        "torch/gru-old": old(lambda: recurrent(nn.GRU)),
        "torch/encoder-masks-old": old(encoder),
        "torch/encoder-masks-new": new(encoder),
        "torch/top-boxes-old": old(lambda: detector(False)),
        "torch/suppressed-boxes-old": old(lambda: detector(True)),
        "torch/unet-old": old(lambda: (UNet(), (torch.randn(1, 3, 32, 32),))),
        "torch/unet-new": new(lambda: (UNet(), (torch.randn(1, 3, 32, 32),))),
        "torch/script-loop-old": old(lambda: (torch.jit.script(Looped()), (torch.randn(2, 5, 8),))),
        "torch/cond-new": new(lambda: (Chosen(), (torch.randn(2, 8),))),
        "torch/stft-old": old(lambda: (Spectral(), (torch.randn(1, 800),))),
        "torch/tabular-new": new(
            lambda: (Tabular(), (torch.randint(0, 50, (4, 3)), torch.randn(4, 13)))
        ),
        "torch/resnet18-float16-new": new(half(of(images.resnet18), torch.float16)),
        "torch/bert-bfloat16-new": new(half(of(hub.bert_classifier), torch.bfloat16)),
        "onnxruntime/resnet18-qdq": after(old(of(images.resnet18)), partial(static, "QDQ")),
        "onnxruntime/mobilenet-qoperator": after(
            old(of(images.mobilenet_v3_small)), partial(static, "QOperator")
        ),
        "onnxruntime/bert-dynamic": after(bert, dynamic),
        "onnxruntime/llama-4bits": after(new(of(hub.llama)), four_bits),
        "onnxruntime/bert-float16": after(bert, in_half),
        "onnxruntime/efficientnet-float16": after(
            old(of(images.efficientnet_b0)), partial(in_half, keep=False)
        ),
        "onnxruntime/bert-fused": after(bert, fused),
        "xgboost/classifier": partial(boosted, "xgboost_classifier"),
        "xgboost/regressor": partial(boosted, "xgboost_regressor"),
        "lightgbm/classifier": lightgbm,
    }
    return found | {f"sklearn/{name}": partial(scikit, of) for name, of in _ESTIMATORS.items()}
