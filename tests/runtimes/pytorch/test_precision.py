"""A torch module in another precision: finite numbers stay finite."""

from __future__ import annotations

import pytest
import torch

from exporters.types import Precision
from runtimes.pytorch.session import in_precision

LOWEST = torch.finfo(torch.float32).min


class Masked(torch.nn.Module):
    """Shares of scores under a mask; `largest` is a weight."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mask", torch.tensor([LOWEST, -torch.inf, torch.nan, 1.0]))
        self.register_buffer("places", torch.tensor([0, 70000]))
        self.largest = torch.nn.Parameter(torch.tensor([-LOWEST]))


@pytest.mark.parametrize(
    ("precision", "dtype"), [("fp16", torch.float16), ("bf16", torch.bfloat16)]
)
def test_the_lowest_number_of_a_mask_stays_finite(precision: Precision, dtype: torch.dtype) -> None:
    module = in_precision(Masked(), precision)
    largest, mask = torch.finfo(dtype).max, module.get_buffer("mask")
    assert mask.dtype == dtype
    assert mask[:2].tolist() == [-largest, -torch.inf]
    assert mask[2].isnan()
    assert mask[3] == 1
    assert next(module.parameters()).tolist() == [largest]
    assert module.get_buffer("places").tolist() == [0, 70000]


def test_a_module_in_fp32_is_left_as_it_is() -> None:
    module = in_precision(Masked(), "fp32")
    assert module.get_buffer("mask")[0] == LOWEST
