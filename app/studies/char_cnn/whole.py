"""The character-level CNN's optimisation history as a whole."""

from __future__ import annotations

from app.studies.char_cnn import ladder, operators, steps
from app.studies.study import Whole

WHOLE = Whole(
    name="char-cnn",
    title="The character-level CNN, optimised",
    repeats=(
        "A history of seven steps took one network from 2.12 to 727.2 inputs a second: offloading, "
        "batches, kernels for a GPU, fused operators, several GPUs. This study reproduces the "
        "steps, by choosing runtimes instead of writing code, then the author's checklist of "
        "operators and fusions, and the whole path, as the result of a search. The network has "
        "random weights, so errors are of outputs, not of answers."
    ),
    parts=(steps.STUDY, operators.STUDY, ladder.STUDY),
    shares=(0.3, 0.2, 0.5),
)
