"""Training of the digit classifiers: the same weights in every process, by one thread and one
seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from torch import nn

from exporters.cache import Store, default_root, done
from exporters.models.digits import CLASSES, IMAGE_SIZE, training_set
from exporters.models.networks import Mlp
from exporters.types import Made


def mlp(width: int) -> nn.Module:
    """Two hidden layers of `width`."""
    return nn.Sequential(nn.Flatten(), Mlp((IMAGE_SIZE**2, width, width, CLASSES)))


def cnn(width: int) -> nn.Module:
    """3 x 3 convolutions of `width` and twice as many filters, each halved by a pool, one dense."""
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(2 * width * (IMAGE_SIZE // 4) ** 2, CLASSES),
    )


NETWORKS = {"mlp": mlp, "cnn": cnn}


WEIGHTS = "weights"

_SEED = 0
_EPOCHS = 30
_BATCH = 32
_LEARNING_RATE = 3e-3


def trained_weights(folder: Path, network: nn.Module) -> Made:
    """The step: the network trained, and its weights by name in an .npz."""
    train(network)
    weights = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    path = folder / "weights.npz"
    np.savez(path, allow_pickle=False, **weights)
    return Made({WEIGHTS: path})


def train(network: nn.Module) -> None:
    """Draw the network's weights anew and fit them to the training digits, in seconds.

    Adam under a learning rate that falls along a cosine to zero, so that the last steps
    settle. MissingPackage without scikit-learn.
    """
    images, labels = map(torch.from_numpy, training_set())
    with _reproducible():
        for layer in network.modules():
            if isinstance(layer, nn.Linear | nn.Conv2d):
                layer.reset_parameters()
        optimiser = torch.optim.Adam(network.parameters(), _LEARNING_RATE)
        steps = _EPOCHS * (len(images) // _BATCH)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
        network.train()
        for _ in range(_EPOCHS):
            order = torch.randperm(len(images))
            for start in range(0, len(images) - _BATCH + 1, _BATCH):
                batch_indices = order[start : start + _BATCH]
                loss = nn.functional.cross_entropy(
                    network(images[batch_indices]), labels[batch_indices]
                )
                optimiser.zero_grad()
                torch.autograd.backward(loss)
                optimiser.step()
                schedule.step()
    network.eval()


@contextmanager
def _reproducible() -> Iterator[None]:
    """One thread, our seed and gradients, whatever the process has set; all of it put back."""
    threads = torch.get_num_threads()
    strict = torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    try:
        with torch.random.fork_rng(devices=()), torch.inference_mode(False), torch.enable_grad():
            torch.manual_seed(_SEED)
            yield
    finally:
        torch.use_deterministic_algorithms(strict)
        torch.set_num_threads(threads)


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
        key_facts={"trained": {"kind": kind, "width": width}},
        packages=("torch",),
        extra_modules=(NETWORKS[kind].__module__,),
    )
    with np.load(weights.entry.files[WEIGHTS]) as archive:
        network.load_state_dict({name: torch.from_numpy(archive[name]) for name in archive})
    return network.eval()
