"""Networks of transformers, torchvision and timm with random weights, as small as they come."""

from __future__ import annotations

from typing import Any

import torch

from tests.survey import torchvision_operators  # noqa: F401 - before any of the packages below

TEXT = {"axes": {name: ["batch", "sequence"] for name in ("input_ids", "attention_mask")}}


def _tokens() -> dict[str, torch.Tensor]:
    ids = torch.randint(0, 90, (1, 12), generator=torch.Generator().manual_seed(3))
    return {"input_ids": ids, "attention_mask": torch.ones(1, 12, dtype=torch.int64)}


def bert() -> Any:
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=90,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
    )
    return BertModel(config), _tokens(), TEXT


def t5_encoder() -> Any:
    from transformers import T5Config, T5EncoderModel

    config = T5Config(vocab_size=90, d_model=32, d_kv=8, d_ff=64, num_layers=1, num_heads=4)
    return T5EncoderModel(config), _tokens(), TEXT


def llava() -> Any:
    """Its ids hold a place for each of the 16 features of its picture."""
    from transformers import (
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
    )

    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1}
    sizes["num_attention_heads"] = 4
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(**sizes, image_size=32, patch_size=8),
        text_config=LlamaConfig(**sizes, vocab_size=90, max_position_embeddings=64),
        image_token_index=89,
    )
    return LlavaForConditionalGeneration(config)
