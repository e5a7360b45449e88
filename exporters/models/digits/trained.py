"""The factory of the digits definitions: a network with its trained weights.

Trained the first time that they are needed and kept in the export cache, so that the export
and a torch runtime in another process have the same ones.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from exporters.cache import Store, default_root, key_of
from exporters.models.digits.networks import NETWORKS
from exporters.models.digits.train import train
from exporters.versions import made_by

_LABEL = "weights"


def trained(kind: str, width: int) -> nn.Module:
    """The network of this kind (`mlp`, `cnn`) and width, in evaluation mode.

    On the meta device, where nothing has values, it comes as it is. MissingPackage if it has
    to be trained and scikit-learn is not installed.
    """
    if torch.get_default_device().type == "meta":
        return NETWORKS[kind](width)
    with torch.inference_mode(False):
        network = NETWORKS[kind](width)
    store = Store(default_root())
    key = key_of(
        trained={"kind": kind, "width": width},
        versions=made_by(
            "models.digits.networks",
            "models.mlp",
            packages=("torch",),
            definition="exporters.models.digits.train",
        ),
    )
    entry = store.get(key)
    if entry is None:
        train(network)
        weights = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
        with store.scratch() as folder:
            path = folder / "weights.npz"
            np.savez(path, allow_pickle=False, **weights)
            store.put(key, {}, {_LABEL: path})
    else:
        with np.load(entry.files[_LABEL]) as archive:
            network.load_state_dict({name: torch.from_numpy(archive[name]) for name in archive})
    return network.eval()
