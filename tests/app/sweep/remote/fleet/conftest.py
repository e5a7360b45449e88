"""One cluster for the tests of a file, and Dask's settings of this process as they were."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from copy import deepcopy

import dask
import distributed
import pytest

from tests.app.sweep.remote.fleet.certificates import Certificates, make
from tests.app.sweep.remote.fleet.cluster import Cluster, cluster


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def scheduler(
    tmp_path_factory: pytest.TempPathFactory, certificates: Certificates
) -> Iterator[Cluster]:
    """A scheduler with certificates and no worker."""
    with cluster(tmp_path_factory.mktemp("cluster"), certificates) as dask_cluster:
        yield dask_cluster


@pytest.fixture(autouse=True)
def _dask_as_it_was(certificates: Certificates) -> Iterator[None]:
    # Named by its module, since its defaults are in the settings once it is imported.
    logger_names = distributed.__name__, f"{distributed.__name__}.client"
    levels, old_config = (
        [logging.getLogger(name).level for name in logger_names],
        deepcopy(dask.config.config),
    )
    dask.config.set(certificates.settings())
    yield
    dask.config.config.clear()
    dask.config.config.update(old_config)
    for name, level in zip(logger_names, levels, strict=True):
        logging.getLogger(name).setLevel(level)
