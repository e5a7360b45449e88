"""A run as a document: the answer, its evidence, time spent, next commands; `graphlap show`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from app.capabilities.largest_batch.search import (
    Search,
    Try,
    largest_fit,
    searches_of,
    stopped_by,
    tries_of,
)
from app.cases.case import Case
from app.cases.column import Row
from app.cases.status import ENDED
from app.columns.rows import Rows
from app.comparison.aggregate_throughput import HostsTogether
from app.comparison.measured_case import Measured
from app.console.answer.matrix import labels_of_cases, legend, matrix_of, matrix_table
from app.console.answer.summary import (
    EndedRun,
    cause_notes,
    ended_run,
    leader_sentences,
    measured_line,
    rounds_to_decide,
    trust_line,
    warning_paragraph,
)
from app.console.check import check_blocks
from app.console.operators import operator_tables
from app.console.overhead_tables import cold_tables, null_tables
from app.console.row_table import (
    SHOWN,
    row_table,
    shown_percentiles,
    sort_column,
    varied_and_common,
)
from app.console.run_comparison import Comparing
from app.console.run_summary import FASTEST, SURE, Said, said, spread_advice
from app.console.scaling import scaling_tables, together_tables
from app.console.scenario_tables import batcher_tables, gap_tables, shape_tables, sustained_tables
from app.console.searches import ladder_tables, rate_tables
from app.console.verify import Shown, damage
from app.formatting import text
from app.formatting.case_labels import model_labels
from app.formatting.text import duration
from app.insights.rules import HEADING, noticed
from app.plan.command import command_words, graphlap_line, plan_words, typed_path
from app.plot_data.curves import idleness
from app.present.document import (
    Block,
    Cell,
    Column,
    Command,
    Heading,
    Note,
    Paragraph,
    Points,
    Table,
    names,
    table,
    tone_of,
)
from app.run_folder.folder import RESULTS
from app.run_folder.run import Part, Run, TimeParts, time_parts
from app.runs.verify import read_whole


def rounds_left_out(run: Run, wanted: Callable[[Case], int]) -> int:
    """How many; `wanted` is how many rounds a case was to have, as far as was known."""
    asked = run.manifest.asked
    budget_s = asked.budget_s
    if budget_s is None or asked.slo or asked.tune:  # whose own sentences say how far they came
        return 0
    had = [
        (case, [result.status for result in run.rounds_of(case) if result.status != "cancelled"])
        for case in run.cases
    ]
    return max(0, sum(wanted(case) - len(of) for case, of in had if ENDED.isdisjoint(of)))


NAMED_SHARE = 0.05
"""Parts of so much of the time are named in the line."""


def time_line(run: Run) -> str:
    """`time: 11.9 s: measurement 34 %, process start 21 %, …`; empty where it is not recorded."""
    found = time_parts(run)
    if found is None:
        return ""
    named = [part for part in found.parts if found.share(part) >= NAMED_SHARE]
    words = [f"{part.what} {_share(found, part)}" for part in named]
    others = found.total_s - sum(part.seconds for part in named)
    if len(named) < len(found.parts):
        words.append(f"other {text.share(others / found.total_s)}")
    return f"time: {text.duration(found.total_s)}: {', '.join(words)}"


def time_blocks(run: Run) -> Iterator[Block]:
    """A row for each part, with a column for each runtime."""
    found = time_parts(run)
    if found is None:
        yield Note(
            "time",
            "this run recorded no times: it was ended from outside, or by an earlier version",
        )
        return
    yield Paragraph(f"This run took {text.duration(found.total_s)}.")
    runtimes = found.runtimes
    yield Table(
        (
            Column("part", is_name=True),
            Column("time"),
            Column("share"),
            *(Column(runtime, priority=1) for runtime in runtimes),
        ),
        tuple(
            (
                part.what,
                Cell(text.time_text(part.seconds), part.seconds, unit="s"),
                Cell(_share(found, part), found.share(part)),
                *(_of_runtime(part, runtime) for runtime in runtimes),
            )
            for part in found.parts
        ),
        is_main=True,
    )


def _share(found: TimeParts, part: Part) -> str:
    return text.share(found.share(part))


def _of_runtime(part: Part, runtime: str) -> Cell | str:
    seconds = part.by_runtime.get(runtime)
    return "" if seconds is None else Cell(text.time_text(seconds), seconds, unit="s")


def extra_tables(
    run: Run,
    rows: Sequence[Row],
    width: int,
    together: Sequence[HostsTogether] = (),
) -> Iterator[Block]:
    """One after the other, laid out for so many columns; `together` is what several hosts serve."""
    if run.manifest.asked.largest_batch:
        yield from largest_tables(run)
    yield from null_tables(run, rows)
    yield from scaling_tables(run.cases, rows, run.manifest.asked)
    yield from together_tables(together)
    yield from batcher_tables(run.cases, rows)
    yield from cold_tables(run, rows, width)
    yield from operator_tables(run, rows, width)
    yield from gap_tables(idleness(rows))
    yield from sustained_tables(rows)
    yield from shape_tables(run)


def largest_tables(run: Run) -> Iterator[Block]:
    """Each search of the run: the largest batch that fits, what stopped it, what was tried."""
    limit = run.manifest.asked.memory_limit
    device = run.manifest.asked.device_memory_limit
    of_device = f", of a GPU's: {device}" if device else ""
    found, tries = searches_of(run), tries_of(run)
    labels = model_labels(search.base.model for search in found)
    yield Heading("largest batch", 3)
    yield table(
        names("model", "runtime", "largest batch", "stopped by", "tried"),
        [
            (labels[search.base.model], search.base.runtime, *_ending(search, tries))
            for search in found
        ],
        caption=f"limit of a measuring process, of the host's memory: {limit}{of_device}",
    )


def _ending(search: Search, tries: Sequence[Try]) -> tuple[str, str, str]:
    """Why the next one failed is told with the causes, at the end."""
    tried = search.tried(tries)
    fits = str(largest_fit(tried) or text.NOT_MEASURED)
    ended = search.next_case(tries) is None
    by = stopped_by(tried) if ended else "not searched to the end: resume the run"
    return fits, by, ", ".join(map(str, tried))


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


MOST_FINDINGS = 3
_OF_LEADERS = ("best", "not_told_apart")
"""Findings that the sentences about leaders contain."""
_SPACE = Paragraph("")
_PAGE_WIDTH = 160
"""Columns of text beside which a page has no room."""


def run_document(
    ended: EndedRun,
    width: int,
    sort: str = "",
    verbose: bool = False,
    before: Iterable[str] = (),
) -> Iterator[Block]:
    """What is shown of a run; tables are laid out for so many columns. Sentences about how it was
    made come `before` all else. With `sort`, and in full, every row is in it."""
    yield from map(Paragraph, before)
    yield Paragraph(measured_line(ended))
    if trust := trust_line(ended):
        yield Paragraph(trust)
    yield from _asked_for(ended, width)
    if ended.plan.check:
        yield from check_blocks(ended.measured, width)
    elif verbose:
        yield from _in_full(ended, sort)
    elif ended.tunes is None:
        yield from _in_short(ended, width, sort)
    for sentence in ended.hosts_left_out:
        yield Paragraph(sentence)
    if advice := spread_advice(ended.run, ended.measured):
        yield Paragraph(advice)
    if spent := time_line(ended.run):
        yield Paragraph(spent, tone="quiet")
    yield from next_commands(ended, verbose)
    yield Command(typed_path(ended.run.path / RESULTS, ended.here), "all rows")


def page_answer(ended: EndedRun) -> Iterator[Block]:
    """The answer on a page: what was measured, medians and their leaders."""
    yield Paragraph(measured_line(ended))
    matrix = matrix_of(ended)
    if ended.has_answer or ended.plan.check or ended.is_imported:
        return
    if matrix.measured or matrix.simulated:
        table = matrix_table(matrix, _PAGE_WIDTH)
        cells = (cell for row in table.rows for cell in row[1:])
        warned = "amber: with warnings" * any(tone_of(cell) == "warning" for cell in cells)
        marks = legend(matrix, ended.plan.band)
        yield replace(table, caption="  ".join(filter(None, (marks, warned))))
        yield from _shared_settings(ended)
    yield Points(tuple(leader_sentences(ended, labels_of_cases(matrix))))


def findings(ended: EndedRun) -> tuple[str, ...]:
    """What is worth a look, in few words each."""
    found = noticed(ended.own, ended.cases, ended.contests)
    return tuple(one.brief for one in found if one.kind not in _OF_LEADERS)[:MOST_FINDINGS]


def _asked_for(ended: EndedRun, width: int) -> Iterator[Block]:
    """What searches found, comparisons, and all that a plan asks for beside its rows."""
    if ended.tunes is not None:
        yield _SPACE
        yield from ladder_tables(ended.tunes)
    if ended.rates is not None:
        yield _SPACE
        yield from rate_tables(ended.rates)
    if ended.compared is not None:
        yield from ended.compared.blocks
    yield from extra_tables(ended.run, ended.rows, width, ended.together)


def _in_short(ended: EndedRun, width: int, sort: str) -> Iterator[Block]:
    """Medians with their leaders, what they come to, and warnings as counts."""
    percentiles = shown_percentiles(ended.plan.percentiles)
    matrix = matrix_of(ended)
    if sort or percentiles != SHOWN or ended.plan.deadline_us is not None or ended.is_imported:
        yield _SPACE
        yield row_table(ended.rows, {}, sort, percentiles)
    elif not ended.has_answer and (matrix.measured or matrix.simulated):
        yield _SPACE
        yield replace(matrix_table(matrix, width), caption=legend(matrix, ended.plan.band))
        yield from _shared_settings(ended)
    leaders = () if ended.has_answer else leader_sentences(ended, labels_of_cases(matrix))
    sentences = (*leaders, *findings(ended))
    if sentences:
        yield _SPACE
        yield Points(sentences)
    yield from cause_notes(ended)
    yield from warning_paragraph(ended)


def _shared_settings(ended: EndedRun) -> Iterator[Block]:
    """What is the same in every case that was timed on this machine, or in all if none was."""
    timed = [row for row in ended.rows if row["iterations"]]
    own = [row for row in timed if row["clock"] != "simulated"] or timed
    _, common = varied_and_common(own)
    sizes = {row["batch_size"] for row in own} - {None}
    common += [f"batch {size}" for size in sizes] if len(sizes) == 1 else []
    if common:
        yield Paragraph(f"every case: {', '.join(common)}", "quiet")


def _in_full(ended: EndedRun, sort: str) -> Iterator[Block]:
    """Every row, every warning with its cases, every verdict with its interval."""
    found = said(ended.measured, ended.plan.band)
    if found.begun:
        yield Heading("rows")
        percentiles = shown_percentiles(ended.plan.percentiles)
        yield row_table(found.begun, found.marks, sort, percentiles)
    for number, doubt in enumerate(found.doubts, 1):
        yield Note(f"({number})", doubt)
    yield from cause_notes(ended)
    if ended.tunes is None:
        yield from _lists(found)


def _lists(found: Said) -> Iterator[Block]:
    for heading, sentences in (
        (HEADING, found.noticed),
        (FASTEST, found.fastest),
        (SURE, found.sure),
    ):
        if sentences:
            yield Heading(heading)
            yield Points(sentences)


def show(folder: str, width: int, sort: str | None, verbose: bool, times: bool = False) -> Shown:
    """What was printed when the run ended, of what is whole of it, or with `times` what its time
    was spent on. PlanError or ResultsError for a folder or a column that is none."""
    whole = read_whole(Path(folder))
    if times:
        return Shown(tuple(time_blocks(whole.run)), damage([whole]))
    column = sort_column(sort, whole.run.manifest.asked.percentiles) if sort is not None else ""
    measured = Rows().measured(whole.run)
    blocks = shown_blocks(whole.run, measured, width, column, verbose=verbose)
    return Shown(blocks, damage([whole]))


def shown_blocks(
    run: Run,
    measured: Sequence[Measured],
    width: int,
    sort: str = "",
    before: Iterable[str] = (),
    verbose: bool = False,
) -> tuple[Block, ...]:
    """The run, laid out for so many columns; sentences about how it was made come `before` the
    rest."""
    ended = ended_run(run, measured, Comparing().of(run, measured))
    return tuple(run_document(ended, width, sort, verbose, before))
