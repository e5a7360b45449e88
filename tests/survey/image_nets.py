"""Architectures of torchvision and timm as factories: random weights, the smaller variants.

`graphlap --models tests/survey/image_nets.py:resnet18` measures one.
"""

from __future__ import annotations

import torchvision_operators  # noqa: F401

# isort: split
import timm
import torch
from torch import nn
from torchvision import models
from torchvision.models import video

Made = tuple[nn.Module, dict[str, torch.Tensor]]

SIDE = 64


def _image(module: nn.Module, side: int = SIDE) -> Made:
    return module.eval(), {"image": torch.randn(1, 3, side, side)}


def _of_timm(name: str, side: int = SIDE, **arguments: int) -> Made:
    return _image(timm.create_model(name, **arguments), side)


def resnet18() -> Made:
    return _image(models.resnet18())


def mobilenet_v3_small() -> Made:
    return _image(models.mobilenet_v3_small())


def efficientnet_b0() -> Made:
    return _image(models.efficientnet_b0())


def shufflenet_v2() -> Made:
    return _image(models.shufflenet_v2_x0_5())


def squeezenet1_1() -> Made:
    return _image(models.squeezenet1_1())


def mnasnet0_5() -> Made:
    return _image(models.mnasnet0_5())


def regnet_y_400mf() -> Made:
    return _image(models.regnet_y_400mf())


def convnext() -> Made:
    """`convnext_tiny` at a quarter of its width and half of its depth."""
    from torchvision.models.convnext import CNBlockConfig

    widths = (24, 48, 96, 192)
    settings = [
        CNBlockConfig(width, following, 2)
        for width, following in zip(widths, (*widths[1:], None), strict=True)
    ]
    return _image(models.ConvNeXt(settings))


def vision_transformer() -> Made:
    module = models.VisionTransformer(
        image_size=SIDE, patch_size=16, num_layers=4, num_heads=4, hidden_dim=64, mlp_dim=128
    )
    return _image(module)


def swin() -> Made:
    module = models.SwinTransformer(
        patch_size=[4, 4], embed_dim=24, depths=[2, 2], num_heads=[2, 4], window_size=[4, 4]
    )
    return _image(module)


def deeplabv3() -> Made:
    """As torchvision has it: its output is a dictionary."""
    return _image(models.segmentation.deeplabv3_mobilenet_v3_large(weights_backbone=None))


def lraspp() -> Made:
    return _image(models.segmentation.lraspp_mobilenet_v3_large(weights_backbone=None))


def mc3_18() -> Made:
    """Convolutions over time and space."""
    return video.mc3_18().eval(), {"clip": torch.randn(1, 3, 8, 32, 32)}


def mobilevit() -> Made:
    return _of_timm("mobilevit_xxs")


def mixer() -> Made:
    return _of_timm("mixer_s32_224", img_size=SIDE)


def ghostnet() -> Made:
    return _of_timm("ghostnet_050")


def regnetx() -> Made:
    return _of_timm("regnetx_002")


def repvgg() -> Made:
    return _of_timm("repvgg_a0")


def deit() -> Made:
    return _of_timm("deit_tiny_patch16_224", img_size=SIDE)


def maxvit() -> Made:
    return _of_timm("maxvit_rmlp_pico_rw_256", img_size=SIDE)


def levit() -> Made:
    return _of_timm("levit_128s", 224)


def poolformer() -> Made:
    return _of_timm("poolformer_s12")


def edgenext() -> Made:
    return _of_timm("edgenext_xx_small")


def convnextv2() -> Made:
    return _of_timm("convnextv2_atto")


def xcit() -> Made:
    return _of_timm("xcit_nano_12_p16_224", img_size=SIDE)


def efficientvit() -> Made:
    return _of_timm("efficientvit_b0")


def gmlp() -> Made:
    return _of_timm("gmlp_ti16_224", img_size=SIDE)
