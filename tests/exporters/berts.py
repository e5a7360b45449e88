"""A small BERT of transformers, with random weights, in the forms that people have it in.

Run as `python -m tests.exporters.berts FOLDER`, it leaves them there as .onnx files: from torch's
new exporter and its old one, quantised dynamically, fused by ONNX Runtime's optimizer, and in fp16
between float32 ends.
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from pathlib import Path
from typing import Any

FORMS = ("dynamo", "legacy", "quantised", "fused", "half")
LENGTH = 64
_INPUTS = ["input_ids", "attention_mask", "token_type_ids"]
_OUTPUTS = ["hidden", "pooled"]


def main(folder: Path) -> None:
    """Write all the forms."""
    warnings.simplefilter("ignore")
    _without_torchvision()
    import onnx
    import torch
    from onnxruntime.quantization import quantize_dynamic
    from onnxruntime.transformers.float16 import convert_float_to_float16
    from onnxruntime.transformers.optimizer import optimize_model
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "intermediate_size": 128}
    config = BertConfig(vocab_size=500, num_attention_heads=4, **sizes)
    bert = _Tensors(BertModel(config).eval()).eval()
    ids = torch.randint(0, 500, (2, LENGTH))
    example = (ids, torch.ones_like(ids), torch.zeros_like(ids))
    axes = {name: {0: "batch", 1: "sequence"} for name in [*_INPUTS, "hidden"]}
    legacy = folder / "legacy.onnx"
    torch.onnx.export(
        bert,
        example,
        legacy,
        input_names=_INPUTS,
        output_names=_OUTPUTS,
        dynamic_axes={**axes, "pooled": {0: "batch"}},
        opset_version=17,
        dynamo=False,
    )
    batch, sequence = torch.export.Dim("batch"), torch.export.Dim("sequence", max=512)
    torch.onnx.export(
        bert,
        example,
        folder / "dynamo.onnx",
        input_names=_INPUTS,
        output_names=_OUTPUTS,
        dynamic_shapes=[{0: batch, 1: sequence}] * len(_INPUTS),
        opset_version=20,
        dynamo=True,
        external_data=False,
        verbose=False,
    )
    quantize_dynamic(legacy, folder / "quantised.onnx")
    fused_model = optimize_model(str(legacy), "bert", num_heads=4, hidden_size=64, opt_level=0)
    fused_model.save_model_to_file(str(folder / "fused.onnx"))
    half = convert_float_to_float16(onnx.load(legacy), keep_io_types=True)
    onnx.save(half, folder / "half.onnx")


def _Tensors(model: Any) -> Any:  # noqa: N802 - it makes a module, once torch is imported
    """The model with tensors in and out, as exporters want it."""
    import torch

    class Tensors(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
            result = self.model(
                input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
            )
            return result.last_hidden_state, result.pooler_output

    return Tensors()


def _without_torchvision() -> None:
    """No BERT needs it, and where it was built for CUDA, transformers fails to import with it."""
    find = importlib.util.find_spec

    def other(name: str, package: str | None = None) -> Any:
        return None if name.partition(".")[0] == "torchvision" else find(name, package)

    importlib.util.find_spec = other


if __name__ == "__main__":
    main(Path(sys.argv[1]))
