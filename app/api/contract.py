"""`graphlap.contract`: the tests that every runtime of ours passes, for a runtime of your own.

A test file of pytest says which runtime it is, and has them all::

    from graphlap.contract import ENGINES, RuntimeContract

    class TestMine(RuntimeContract):
        name = "mine"
        engines = ENGINES | {"my_engine"}
"""

from __future__ import annotations

try:
    import pytest
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("graphlap.contract are tests: pip install pytest") from error

from exporters import install_layout

# What a failing assertion compared is told only where pytest has rewritten it.
pytest.register_assert_rewrite(install_layout.module_name("app.contract.suite"))

from app.contract.graphs import Graphs  # noqa: E402
from app.contract.suite import ENGINES, ONE_THREAD, RuntimeContract, agrees, reference_of  # noqa: E402

__all__ = ["ENGINES", "ONE_THREAD", "Graphs", "RuntimeContract", "agrees", "reference_of"]
