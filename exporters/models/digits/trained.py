"""The factory of the digits definitions: a network with its trained weights.

Trained the first time that they are needed and kept in the export cache, so that the export
and a torch runtime in another process have the same ones.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from exporters.cache import Store, default_root
from exporters.models.digits.networks import NETWORKS
from exporters.models.digits.train import WEIGHTS, trained_weights
from exporters.steps import done


def trained(kind: str, width: int) -> nn.Module:
    """The network of this kind (`mlp`, `cnn`) and width, in evaluation mode.

    On the meta device, where nothing has values, it comes as it is. MissingPackage if it has
    to be trained and scikit-learn is not installed.
    """
    if torch.get_default_device().type == "meta":
        return NETWORKS[kind](width)
    with torch.inference_mode(False):
        network = NETWORKS[kind](width)
    weights = done(
        Store(default_root()),
        trained_weights,
        network,
        about={"trained": {"kind": kind, "width": width}},
        packages=("torch",),
        beside=(NETWORKS[kind].__module__,),
    )
    with np.load(weights.entry.files[WEIGHTS]) as archive:
        network.load_state_dict({name: torch.from_numpy(archive[name]) for name in archive})
    return network.eval()
