"""What to do next, as commands that can be pasted."""

from __future__ import annotations

from collections.abc import Iterator

from app.console.answer.ended import EndedRun
from app.console.answer.leaders import rounds_to_decide
from app.console.left_out import rounds_left_out
from app.plan.command import command_words, plan_words
from app.plan.program import graphlap_line, typed_path
from app.present.document import Block, Command, Paragraph
from app.results.text import duration

_LONGEST = 160
"""A longer command is not shown: it is easier to edit the one that was typed."""


def next_commands(ended: EndedRun, verbose: bool = False) -> Iterator[Block]:
    """To finish the run, to decide what is undecided, and to see all of it."""
    run = typed_path(ended.run.path, ended.here)
    missing = rounds_left_out(ended.run, ended.wanted)
    if missing:
        budget = duration(ended.plan.budget_s)
        purpose = f"measure the {missing:,} rounds that the budget of {budget} left out"
        yield Command(graphlap_line("resume", run, here=ended.here), purpose)
    yield from _to_decide(ended)
    if not verbose and not ended.plan.check:
        line = graphlap_line("show", run, "--verbose", here=ended.here)
        yield Command(line, "every row, warning and interval")


def _to_decide(ended: EndedRun) -> Iterator[Block]:
    """The rounds that may decide more, as a command where flags can say all of the plan."""
    found = None if ended.has_answer else rounds_to_decide(ended.contests)
    if found is None:
        return
    rounds, decided, undecided = found
    purpose = f"may decide {decided:,} of {undecided:,} undecided"
    words = plan_words(ended.plan.model_copy(update={"rounds": rounds}))
    if words is not None and len(" ".join(words)) <= _LONGEST:
        yield Command(graphlap_line(*command_words(words), here=ended.here), purpose)
    else:
        yield Paragraph(f"--rounds {rounds} {purpose}")
