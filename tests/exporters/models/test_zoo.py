"""The 34 networks are Gluon's to the last parameter, and their outputs mean something."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from exporters.inputs import seeded_inputs
from exporters.models.catalogue import find
from exporters.pytorch.counts import macs
from exporters.pytorch.module import build
from tests.seldom import seldom_but

# Millions of multiply-accumulates at the network's image size. MobileNet v1: Howard et al.
# 2017, tables 6 and 8. The rest: the FLOPs/2 column of the imgclsmob project's Gluon table,
# which counts norms and activations too, hence the 2 %.
PUBLISHED_MMACS = {
    "mobilenet1.0": (569, 0.002),
    "mobilenet0.75": (325, 0.002),
    "mobilenet0.5": (149, 0.005),
    "mobilenet0.25": (41, 0.01),
    "alexnet": (714.83, 0.02),
    "vgg11": (7615.87, 0.02),
    "vgg13": (11317.65, 0.02),
    "vgg16": (15480.10, 0.02),
    "vgg19": (19642.55, 0.02),
    "resnet18_v1": (1820.41, 0.02),
    "resnet34_v1": (3672.68, 0.02),
    "resnet50_v1": (3877.95, 0.02),
    "resnet101_v1": (7597.95, 0.02),
    "resnet152_v1": (11321.85, 0.02),
    "resnet18_v2": (1820.56, 0.02),
    "resnet34_v2": (3672.83, 0.02),
    "resnet50_v2": (4107.97, 0.02),
    "resnet101_v2": (7827.97, 0.02),
    "resnet152_v2": (11551.87, 0.02),
}

ONE_OF_EACH_KIND = (
    "alexnet",
    "densenet121",
    "inceptionv3",
    "mobilenet1.0",
    "mobilenetv2_1.0",
    "resnet50_v1",
    "resnet50_v2",
    "squeezenet1.0",
    "vgg11",
    "vgg11_bn",
)
QUICK = ("mobilenet1.0", "mobilenetv2_1.0", "squeezenet1.0")


def _weightless(name: str) -> nn.Module:
    with torch.device("meta"):
        return build(find(name).factory)


@pytest.mark.parametrize("name", PUBLISHED_MMACS)
def test_multiply_accumulates_are_those_of_the_literature(name: str) -> None:
    image = torch.empty(find(name).inputs[0].shape_at({"batch": 1}), device="meta")
    mac_count = macs(_weightless(name), [image])
    published_macs, tolerance = PUBLISHED_MMACS[name]
    assert mac_count == pytest.approx(published_macs * 1e6, rel=tolerance)


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("AlexNet", "alexnet"),
        ("ResNet-v2-50", "resnet50_v2"),
        ("ResNet-v1-101", "resnet101_v1"),
        ("MobileNet-v2-1.0", "mobilenetv2_1.0"),
        ("MobileNet-0.25", "mobilenet0.25"),
        ("Inception-v3", "inceptionv3"),
        ("SqueezeNet-1.1", "squeezenet1.1"),
        ("DenseNet-161", "densenet161"),
        ("VGG-16", "vgg16"),
        ("VGG-16-bn", "vgg16_bn"),
    ],
)
def test_the_names_of_the_study_lead_to_the_networks(alias: str, name: str) -> None:
    assert find(alias) is find(name)


@pytest.mark.parametrize("name", seldom_but(QUICK, ONE_OF_EACH_KIND))
def test_outputs_are_sane_and_depend_on_the_image(name: str) -> None:
    """A comparison of outputs that vanish, explode or ignore the image would prove nothing."""
    definition = find(name)
    network = build(definition.factory)
    images = torch.from_numpy(seeded_inputs(definition.inputs, {"batch": 2}, seed=0)["x"])
    with torch.inference_mode():
        logits = network(images)
    assert logits.isfinite().all()
    assert logits.std(dim=1).min() > 0.01
    assert logits.abs().max() < 100
    assert (logits[0] - logits[1]).std() > 0.01 * logits.std()


def test_the_input_norm_of_resnet_v2_scales_nothing() -> None:
    norm = build(find("resnet18_v2").factory).get_submodule("0")
    assert isinstance(norm, nn.BatchNorm2d)
    assert not norm.affine
    assert norm.running_mean is not None
    assert norm.running_mean.abs().min() > 0
