"""Networks of transformers, torchvision and timm with random weights, as small as they come."""

from __future__ import annotations

from typing import Any

import torch

from tests.exporters.pytorch import torchvision_operators  # noqa: F401 - before these packages

TEXT = {"axes": {name: ["batch", "sequence"] for name in ("input_ids", "attention_mask")}}
SHAPE = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}
WORDS = {"vocab_size": 90}
PATCHES = {"image_size": 32, "patch_size": 8}


def _tokens(*, mask: bool = True) -> dict[str, torch.Tensor]:
    ids = torch.randint(0, 90, (1, 12), generator=torch.Generator().manual_seed(3))
    more = {"attention_mask": torch.ones(1, 12, dtype=torch.int64)} if mask else {}
    return {"input_ids": ids, **more}


def _picture(side: int, name: str = "pixel_values") -> dict[str, torch.Tensor]:
    return {name: torch.randn(1, 3, side, side)}


def bert() -> Any:
    from transformers import BertConfig, BertModel

    return BertModel(BertConfig(**WORDS, **SHAPE)), _tokens(), TEXT


def distilbert() -> Any:
    from transformers import DistilBertConfig, DistilBertModel

    config = DistilBertConfig(**WORDS, dim=32, n_layers=2, n_heads=4, hidden_dim=64)
    return DistilBertModel(config).eval(), _tokens()


def gpt2() -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(**WORDS, n_embd=32, n_layer=2, n_head=4, use_cache=False)
    return GPT2LMHeadModel(config).eval(), _tokens(mask=False)


def llama() -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(**WORDS, **SHAPE, num_key_value_heads=2, use_cache=False)
    return LlamaForCausalLM(config).eval(), _tokens()


def mamba() -> Any:
    from transformers import MambaConfig, MambaForCausalLM

    config = MambaConfig(
        **WORDS, hidden_size=32, state_size=8, num_hidden_layers=2, use_cache=False
    )
    return MambaForCausalLM(config).eval(), _tokens(mask=False)


def t5_encoder() -> Any:
    from transformers import T5Config, T5EncoderModel

    config = T5Config(**WORDS, d_model=32, d_kv=8, d_ff=64, num_layers=1, num_heads=4)
    return T5EncoderModel(config), _tokens(), TEXT


def clip_text() -> Any:
    from transformers import CLIPTextConfig, CLIPTextModel

    return CLIPTextModel(CLIPTextConfig(**WORDS, **SHAPE)).eval(), _tokens()


def vit() -> Any:
    from transformers import ViTConfig, ViTModel

    return ViTModel(ViTConfig(**SHAPE, **PATCHES)).eval(), _picture(32)


def mobilenet_v3_small() -> Any:
    from torchvision import models

    return models.mobilenet_v3_small().eval(), _picture(64, "image")


def convnextv2() -> Any:
    import timm

    return timm.create_model("convnextv2_atto").eval(), _picture(64, "image")


def llava() -> Any:
    """Its ids hold a place for each of the 16 features of its picture."""
    from transformers import (
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
    )

    sizes = {**SHAPE, "num_hidden_layers": 1}
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(**sizes, **PATCHES),
        text_config=LlamaConfig(**sizes, **WORDS, max_position_embeddings=64),
        image_token_index=89,
    )
    return LlavaForConditionalGeneration(config)
