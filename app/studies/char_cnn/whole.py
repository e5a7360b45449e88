"""The character-level CNN's optimisation history as a whole."""

from __future__ import annotations

from app.studies.char_cnn import ladder, operators, steps
from app.studies.study import Whole

WHOLE = Whole(
    name="char-cnn",
    title="The character-level CNN, optimised",
    repeats=(
        "A history of seven steps took one network from 2.12 to 727.2 inputs a second: offloading, "
        "batches, kernels for a GPU, fused operators, several GPUs. Repeated here are the steps, "
        "with what a user of runtimes can choose in place of code, the author's checklist of "
        "operators and fusions, and the way as a whole, as a search finds it. The network has "
        "drawn weights: errors are of outputs, not of answers."
    ),
    parts=(steps.STUDY, operators.STUDY, ladder.STUDY),
    shares=(0.3, 0.2, 0.5),
)
