"""Architectures of transformers as factories: small, with random weights, as their classes are.

`graphlap --models tests/survey/hugging_face.py:bert` measures one.
"""

from __future__ import annotations

import torchvision_operators  # noqa: F401

# isort: split
import torch
import transformers as hf
from torch import nn

Made = tuple[nn.Module, dict[str, torch.Tensor]]

WORDS, TOKENS, WIDTH, HEADS, LAYERS = 100, 12, 32, 4, 2


def _text_network(module: nn.Module, *, mask: bool = True) -> Made:
    ids = torch.arange(TOKENS)[None] * 7 % WORDS
    inputs = {"input_ids": ids}
    if mask:
        inputs["attention_mask"] = torch.ones_like(ids)
    return module.eval(), inputs


def _image_network(module: nn.Module, size: int = 32) -> Made:
    return module.eval(), {"pixel_values": torch.randn(1, 3, size, size)}


def _shape() -> dict[str, int]:
    return {
        "vocab_size": WORDS,
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": 2 * WIDTH,
    }


def _vision() -> dict[str, int]:
    return {name: size for name, size in _shape().items() if name != "vocab_size"}


def bert() -> Made:
    return _text_network(hf.BertModel(hf.BertConfig(**_shape())))


def bert_classifier() -> Made:
    return _text_network(hf.BertForSequenceClassification(hf.BertConfig(**_shape())))


def distilbert() -> Made:
    config = hf.DistilBertConfig(
        vocab_size=WORDS, dim=WIDTH, n_layers=LAYERS, n_heads=HEADS, hidden_dim=2 * WIDTH
    )
    return _text_network(hf.DistilBertModel(config))


def roberta() -> Made:
    return _text_network(hf.RobertaModel(hf.RobertaConfig(**_shape())))


def albert() -> Made:
    return _text_network(hf.AlbertModel(hf.AlbertConfig(**_shape(), embedding_size=16)))


def electra() -> Made:
    return _text_network(hf.ElectraModel(hf.ElectraConfig(**_shape(), embedding_size=16)))


def mpnet() -> Made:
    return _text_network(hf.MPNetModel(hf.MPNetConfig(**_shape())))


def deberta() -> Made:
    return _text_network(hf.DebertaV2Model(hf.DebertaV2Config(**_shape())))


def gpt2() -> Made:
    config = hf.GPT2Config(
        vocab_size=WORDS, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS, use_cache=False
    )
    return _text_network(hf.GPT2LMHeadModel(config), mask=False)


def opt() -> Made:
    config = hf.OPTConfig(
        vocab_size=WORDS,
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        ffn_dim=2 * WIDTH,
        word_embed_proj_dim=WIDTH,
        use_cache=False,
    )
    return _text_network(hf.OPTForCausalLM(config))


def llama() -> Made:
    config = hf.LlamaConfig(**_shape(), num_key_value_heads=2, use_cache=False)
    return _text_network(hf.LlamaForCausalLM(config))


def llama_half() -> Made:
    """Its weights and its outputs are float16."""
    module, inputs = llama()
    return module.half(), inputs


def qwen2() -> Made:
    config = hf.Qwen2Config(**_shape(), num_key_value_heads=2, use_cache=False)
    return _text_network(hf.Qwen2ForCausalLM(config))


def mamba() -> Made:
    config = hf.MambaConfig(
        vocab_size=WORDS,
        hidden_size=WIDTH,
        state_size=8,
        num_hidden_layers=LAYERS,
        use_cache=False,
    )
    return _text_network(hf.MambaForCausalLM(config), mask=False)


def t5_encoder() -> Made:
    config = hf.T5Config(
        vocab_size=WORDS, d_model=WIDTH, d_kv=8, d_ff=64, num_layers=LAYERS, num_heads=HEADS
    )
    return _text_network(hf.T5EncoderModel(config))


def clip_text() -> Made:
    return _text_network(hf.CLIPTextModel(hf.CLIPTextConfig(**_shape())))


def clip_vision() -> Made:
    config = hf.CLIPVisionConfig(**_vision(), image_size=32, patch_size=8)
    return _image_network(hf.CLIPVisionModel(config))


def clip() -> Made:
    """Both towers, with how far each text is from each picture."""
    config = hf.CLIPConfig(
        text_config=_shape(), vision_config={**_vision(), "image_size": 32, "patch_size": 8}
    )
    module, text = _text_network(hf.CLIPModel(config))
    return module, {**text, "pixel_values": torch.randn(1, 3, 32, 32)}


def llava() -> Made:
    """Its ids hold a place for each of the 16 features of its picture."""
    picture = WORDS - 1
    config = hf.LlavaConfig(
        vision_config=hf.CLIPVisionConfig(**_vision(), image_size=32, patch_size=8),
        text_config=hf.LlamaConfig(**_shape(), num_key_value_heads=2, use_cache=False),
        image_token_index=picture,
    )
    module, text = _text_network(hf.LlavaForConditionalGeneration(config), mask=False)
    ids = torch.cat([torch.full((1, 16), picture), text["input_ids"]], 1)
    return module, {"input_ids": ids, "pixel_values": torch.randn(1, 3, 32, 32)}


def vit() -> Made:
    config = hf.ViTConfig(**_vision(), image_size=32, patch_size=8)
    return _image_network(hf.ViTModel(config))


def dinov2() -> Made:
    return _image_network(hf.Dinov2Model(hf.Dinov2Config(**_vision(), image_size=32, patch_size=8)))


def segformer() -> Made:
    config = hf.SegformerConfig(
        depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 24, 32], decoder_hidden_size=16
    )
    return _image_network(hf.SegformerForSemanticSegmentation(config), size=64)


def whisper_encoder() -> Made:
    config = hf.WhisperConfig(
        vocab_size=WORDS,
        num_mel_bins=16,
        encoder_layers=LAYERS,
        encoder_attention_heads=HEADS,
        decoder_layers=1,
        decoder_attention_heads=HEADS,
        d_model=WIDTH,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_source_positions=40,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
    )
    encoder = hf.WhisperModel(config).encoder
    return encoder.eval(), {"input_features": torch.randn(1, 16, 80)}


def wav2vec2() -> Made:
    config = hf.Wav2Vec2Config(
        **_shape(),
        conv_dim=(16, 16),
        conv_kernel=(10, 3),
        conv_stride=(5, 2),
        num_feat_extract_layers=2,
        num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=4,
    )
    return hf.Wav2Vec2Model(config).eval(), {"input_values": torch.randn(1, 800)}
