"""A run as a document: the answer, its evidence, time spent, next commands; `graphlap show`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from app.analysis.columns.latency import Levels
from app.analysis.columns.rows import Rows
from app.analysis.columns.table import MAIN, column
from app.analysis.comparison.aggregate_throughput import AggregateThroughput
from app.analysis.comparison.measured_case import MeasuredCase
from app.analysis.plot_data.curves import idleness
from app.cases.jobs import Sensitivity
from app.cases.status import TERMINAL
from app.formatting import text
from app.formatting.text import counted
from app.plan.command import command_words, graphlap_line, plan_words, typed_path
from app.present.answer import tables as capability_tables
from app.present.console.answer.matrix import labels_of_cases, legend, matrix_of, matrix_table
from app.present.console.answer.summary import (
    RunResult,
    assumption_line,
    cause_notes,
    effect_lines,
    input_lines,
    leader_sentences,
    measured_line,
    rounds_to_decide,
    run_result,
    trust_line,
    warning_paragraph,
)
from app.present.console.check import check_blocks
from app.present.console.export_formats import RunDocument, export, formats_of
from app.present.console.row_table import (
    DEFAULT_PERCENTILES,
    row_table,
    shared_settings,
    shown_percentiles,
    sort_column,
)
from app.present.console.run_comparison import Comparer
from app.present.console.run_summary import full_parts, spread_advice, verdict_text
from app.present.console.scaling import scaling_tables, throughput_tables
from app.present.console.scenario_tables import (
    batcher_tables,
    gap_tables,
    null_tables,
    set_tables,
    shape_tables,
    sustained_tables,
)
from app.present.document import (
    Block,
    Cell,
    Column,
    Command,
    Details,
    Note,
    Paragraph,
    Points,
    Table,
    unfolded,
)
from app.present.terminal import as_lines
from app.run_folder.folder import RESULTS
from app.run_folder.run import Part, Run, TimeParts, time_parts
from app.runs.exporting.json_file import row_values
from app.runs.importing.foreign_run import cases_of, plan_of, read_foreign, write_run
from app.runs.union import named_path, read_runs
from app.stats.intervals import MINIMUM_ROUNDS
from app.sweep.run_creation import new_path


def count_missing_rounds(result: RunResult) -> int:
    """How many rounds a run with a budget lacks, where it is known how many each case gets."""
    run = result.run
    if result.plan.budget_s is None or any(answer.is_final for answer in result.answers):
        return 0
    statuses_by_case = [
        (case, [entry.status for entry in run.rounds_of(case) if entry.status != "cancelled"])
        for case in run.cases
    ]
    return max(
        0,
        sum(
            result.planned_rounds(case) - len(statuses)
            for case, statuses in statuses_by_case
            if TERMINAL.isdisjoint(statuses)
        ),
    )


def _count_without_verdict(result: RunResult) -> int:
    """How many cases that may get more rounds have fewer than a verdict needs, where others have
    enough."""
    statuses = [[entry.status for entry in result.run.rounds_of(c)] for c in result.run.cases]
    few = sum(len(own) < MINIMUM_ROUNDS and TERMINAL.isdisjoint(own) for own in statuses)
    return few if any(len(own) >= MINIMUM_ROUNDS for own in statuses) else 0


NAMED_SHARE = 0.05
"""Parts of so much of the time are named in the line."""


def time_line(run: Run) -> str:
    """`time: 11.9 s: measurement 34 %, process start 21 %, …`; empty where it is not recorded."""
    times = time_parts(run)
    if times is None:
        return ""
    large_parts = [part for part in times.parts if times.share(part) >= NAMED_SHARE]
    words = [f"{part.activity} {_share(times, part)}" for part in large_parts]
    rest_s = times.total_s - sum(part.seconds for part in large_parts)
    if len(large_parts) < len(times.parts):
        words.append(f"other {text.share(rest_s / times.total_s)}")
    return f"time: {text.duration(times.total_s)}: {', '.join(words)}"


def time_blocks(run: Run) -> Iterator[Block]:
    """A row for each part, with a column for each runtime."""
    times = time_parts(run)
    if times is None:
        yield Note(
            "time",
            "this run recorded no times: it was ended from outside",
        )
        return
    yield Paragraph(f"This run took {text.duration(times.total_s)}.")
    runtimes = times.runtimes
    yield Table(
        (
            Column("part", is_name=True),
            Column("time"),
            Column("share"),
            *(Column(runtime, priority=1) for runtime in runtimes),
        ),
        tuple(
            (
                part.activity,
                Cell(text.time_text(part.seconds), part.seconds, unit="s"),
                Cell(_share(times, part), times.share(part)),
                *(_runtime_cell(part, runtime) for runtime in runtimes),
            )
            for part in times.parts
        ),
        is_main=True,
        has_all_columns=True,
    )


def _share(times: TimeParts, part: Part) -> str:
    return text.share(times.share(part))


def _runtime_cell(part: Part, runtime: str) -> Cell | str:
    seconds = part.by_runtime.get(runtime)
    return "" if seconds is None else Cell(text.time_text(seconds), seconds, unit="s")


def extra_tables(
    result: RunResult, width: int, throughputs: Sequence[AggregateThroughput] = ()
) -> Iterator[Block]:
    """Tables of what a plan adds to its rows, laid out for so many columns; `throughputs` are what
    several hosts serve."""
    run, rows = result.run, result.rows
    yield from null_tables(run, rows)
    yield from scaling_tables(run.cases, rows, run.manifest.requested_plan)
    yield from throughput_tables(throughputs)
    yield from batcher_tables(run.cases, rows)
    yield from capability_tables(run, rows, width)
    yield from gap_tables(idleness(rows))
    yield from sustained_tables(rows)
    yield from shape_tables(run)
    yield from set_tables(run)


_MAXIMUM_LENGTH = 160
"""A longer command is not shown: it is easier to edit the one that was typed."""


def next_commands(result: RunResult, verbose: bool = False) -> Iterator[Block]:
    """To finish the run, to decide what is undecided, and to see all of it; none of several runs,
    of which each goes on by itself."""
    if result.run.parts:
        return
    run = typed_path(result.run.path, result.shell_folder)
    missing = count_missing_rounds(result)
    if missing:
        purpose = f"measure the {text.counted(missing, 'round')} that this run lacks"
        few = _count_without_verdict(result)
        if few:
            purpose += f" ({text.counted(few, 'case')} with fewer than {MINIMUM_ROUNDS})"
        yield Command(graphlap_line("resume", run, shell_folder=result.shell_folder), purpose)
    yield from _decision_blocks(result)
    if not verbose and not result.plan.check:
        line = graphlap_line("show", run, "--verbose", shell_folder=result.shell_folder)
        yield Command(line, "every row, warning and interval")


def _decision_blocks(result: RunResult) -> Iterator[Block]:
    """The rounds that may decide more, as a command where flags can say all of the plan."""
    decision = None if result.has_answer else rounds_to_decide(result.contests)
    if decision is None:
        return
    decided, undecided_count = decision
    rounds, *cheaper = decided
    if rounds <= result.run.manifest.rounds:  # a resumed run measures as many
        return
    purpose = (
        f"may decide {decided[rounds]:,} of {text.counted(undecided_count, 'undecided comparison')}"
    )
    for fewer in cheaper:
        if fewer > result.run.manifest.rounds:
            purpose += f" ({decided[fewer]:,} of them with --rounds {fewer})"
    words = plan_words(result.plan.model_copy(update={"rounds": rounds}))
    if words is not None and len(" ".join(words)) <= _MAXIMUM_LENGTH:
        yield Command(
            graphlap_line(*command_words(words), shell_folder=result.shell_folder), purpose
        )
    else:
        yield Paragraph(f"--rounds {rounds} {purpose}")


LIVE = "still being measured: this is what there is so far"
MAXIMUM_FINDINGS = 3
_LEADER_KINDS = ("best", "not_told_apart")
"""Findings that the sentences about leaders contain."""
_SPACE = Paragraph("")


def run_document(
    result: RunResult,
    width: int,
    sort: str = "",
    verbose: bool = False,
) -> Iterator[Block]:
    """What is shown of a run; tables are laid out for so many columns. With `sort`, and in full,
    every row is in it."""
    yield from answer_blocks(result, width, sort, verbose)
    yield from next_commands(result, verbose)
    if not result.run.parts:
        yield Command(typed_path(result.run.path / RESULTS, result.shell_folder), "all rows")


def answer_blocks(
    result: RunResult, width: int, sort: str = "", verbose: bool = False, is_page: bool = False
) -> Iterator[Block]:
    """The same without what to do next. A terminal shows the end of it first, a page its beginning:
    there the answer comes before what a plan asks for beside its rows."""
    yield from map(Paragraph, result.run.notes)
    if result.is_live:
        yield Paragraph(LIVE)
    yield Paragraph(measured_line(result))
    if assumption := assumption_line(result.measured):
        yield Paragraph(assumption)
    yield from map(
        Paragraph, effect_lines(result.measured, result.run.result_by_subject(Sensitivity))
    )
    if trust := trust_line(result):
        yield Paragraph(trust)
    yield from map(Paragraph, input_lines(result.run.models.values()))
    searches, extras = _search_blocks(result), extra_tables(result, width, result.throughputs)
    yield from searches if is_page else chain(searches, extras)
    if result.plan.check:
        yield from check_blocks(result.measured)
    elif verbose:
        yield from cause_notes(result)
        yield from unfolded(all_parts(result, sort))
    elif not result.replaces_rows:
        yield from _short_blocks(result, width, sort)
    if is_page:
        yield from extras
    yield from _closing_blocks(result)


def all_parts(result: RunResult, sort: str = "") -> Iterator[Details]:
    """All that is known of the run, but rankings where the answer stands in their place."""
    plan, ranked = result.plan, not result.replaces_rows
    percentiles, contests = plan.percentiles, result.contests
    yield from full_parts(
        result.measured, percentiles, plan.band, contests, ranked=ranked, sort=sort
    )


def _closing_blocks(result: RunResult) -> Iterator[Block]:
    """Hosts that were left out, advice on the rounds, the time that was spent."""
    for sentence in result.hosts_left_out:
        yield Paragraph(sentence)
    if advice := spread_advice(result.run, result.measured):
        yield Paragraph(advice, tone="quiet")
    if time_text := time_line(result.run):
        yield Paragraph(time_text, tone="quiet")


def findings(result: RunResult) -> tuple[str, ...]:
    """What is worth a look, in few words each."""
    return tuple(insight.brief for insight in result.insights if insight.kind not in _LEADER_KINDS)[
        :MAXIMUM_FINDINGS
    ]


def _search_blocks(result: RunResult) -> Iterator[Block]:
    """What searches found, and comparisons."""
    for answer in result.answers:
        if answer.is_final:
            yield _SPACE
            yield from answer.tables()
    if result.compared is not None:
        yield from result.compared.blocks
    for answer in result.answers:
        if not answer.is_final:
            yield from answer.tables()


def replaces_medians(result: RunResult) -> bool:
    """Whether the answer has every row, since medians alone are not what was asked for."""
    percentiles = shown_percentiles(result.plan.percentiles)
    has_others = percentiles != DEFAULT_PERCENTILES or result.plan.deadline_us is not None
    return has_others or result.is_imported


def _short_blocks(result: RunResult, width: int, sort: str) -> Iterator[Block]:
    """Medians with their leaders, what they come to, and warnings as counts."""
    matrix = matrix_of(result)
    if sort or replaces_medians(result):
        yield _SPACE
        yield row_table(result.rows, {}, sort, shown_percentiles(result.plan.percentiles))
    elif not result.has_answer and (matrix.measured or matrix.simulated):
        yield _SPACE
        yield replace(matrix_table(matrix, width), caption=legend(matrix, result.plan.band))
        if settings := shared_settings(result.rows):
            yield Paragraph(settings, "quiet")
    leaders = () if result.has_answer else leader_sentences(result, labels_of_cases(matrix))
    sentences = (*leaders, *findings(result))
    if sentences:
        yield _SPACE
        yield Points(sentences)
    yield from cause_notes(result)
    yield from warning_paragraph(result)


def run_facts(result: RunResult, exit_reason: tuple[int, str] | None = None) -> dict[str, Any]:
    """Folder (null of several, which `folders` lists), exit code and reason in a word (null of a
    stored run), units, a row for each case, the fastest of those alike, and the comparison that was
    asked for.

    Stable keys: what is added later is a new key. Columns are those of results.csv, the chosen
    percentiles and the levels that the answer quotes.
    """
    run = result.run
    percentiles = shown_percentiles(result.plan.percentiles)
    chosen = [f"latency_{name}_us" for name in percentiles]
    names = tuple(dict.fromkeys((*MAIN, *chosen, *Levels.names())))
    code, reason = exit_reason or (None, None)
    definitions = {name: column(name) for name in names}
    return {
        "run": {
            "folder": None if run.parts else str(run.path.absolute()),
            "folders": [str(path.absolute()) for path in run.paths],
            "run_id": run.manifest.run_id,
            "name": run.manifest.name,
            "is_live": result.is_live,
            "exit_code": code,
            "exit_reason": reason,
            "units": {name: one.unit for name, one in definitions.items() if one and one.unit},
            "rows": [row_values(row, names) for row in result.rows],
            "verdicts": list(_verdicts(result)),
            "comparison": dict(result.compared.facts) if result.compared is not None else None,
        }
    }


def _verdicts(result: RunResult) -> Iterator[dict[str, Any]]:
    for contest in result.contests:
        interval = contest.verdict.interval
        yield {
            "what": contest.label,
            "first": contest.first,
            "second": contest.second,
            "case_ids": list(contest.case_ids),
            "times": contest.times,
            "times_ci_low": interval.low if interval is not None else None,
            "times_ci_high": interval.high if interval is not None else None,
            "verdict": contest.word,
            "simulated": contest.simulated,
            "sentence": verdict_text(contest, result.plan.band),
        }


def show(
    folders: Sequence[str], width: int, sort: str | None, verbose: bool, times: bool = False
) -> RunDocument:
    """What was printed when the run ended, of what is whole of it, or with `times` what its time
    was spent on; several are shown as one. PlanError or ResultsError for a folder or a column that
    is none."""
    run, damage = read_runs(folders)
    if times:
        return RunDocument(tuple(time_blocks(run)), damage)
    percentiles = run.manifest.requested_plan.percentiles
    column = sort_column(sort, percentiles) if sort is not None else ""
    result = _shown_result(run, Rows().measured(run))
    blocks = tuple(run_document(result, width, column, verbose))
    return RunDocument(blocks, damage, lambda: run_facts(result))


def shown_blocks(
    run: Run,
    measurements: Sequence[MeasuredCase],
    width: int,
    sort: str = "",
    verbose: bool = False,
) -> tuple[Block, ...]:
    """The run, laid out for so many columns."""
    return tuple(run_document(_shown_result(run, measurements), width, sort, verbose))


def _shown_result(run: Run, measurements: Sequence[MeasuredCase]) -> RunResult:
    return run_result(run, measurements, Comparer().outcome_of(run, measurements))


SCREEN_LINES = 40
_MAXIMUM_CAUSE_LINES = 2


def fit_to_screen(document: Iterable[Block], width: int) -> tuple[Block, ...]:
    """The document in at most `SCREEN_LINES` of so many columns; as it is where leaving out does
    not achieve that, as with tables that a plan asks for.

    Long causes are cut first, then explanations go, then causes from the end. Answers, warnings and
    commands stay; the full form has the rest.
    """
    blocks = tuple(document)
    if not _is_long(blocks, width):
        return blocks
    fewer = [_shorten(block, width) for block in blocks]
    places = [
        *(place for place, block in enumerate(fewer) if _is_explanation(block)),
        *(place for place, block in reversed([*enumerate(fewer)]) if isinstance(block, Note)),
    ]
    for count in range(len(places) + 1):
        remaining = _remaining_blocks(fewer, places[:count])
        if not _is_long(remaining, width):
            return remaining
    return blocks


def _remaining_blocks(blocks: Sequence[Block], places: Sequence[int]) -> tuple[Block, ...]:
    """The blocks that are not at these places; where causes go, how many stands in their place."""
    causes = sorted(place for place in places if isinstance(blocks[place], Note))
    count = f"... and {counted(len(causes), 'more cause')} of missing figures"
    return tuple(
        Paragraph(count) if causes and place == causes[0] else block
        for place, block in enumerate(blocks)
        if place not in places or (causes and place == causes[0])
    )


def _is_long(blocks: Iterable[Block], width: int) -> bool:
    return sum(1 for _ in as_lines(blocks, width)) > SCREEN_LINES


def _is_explanation(block: Block) -> bool:
    return isinstance(block, Paragraph) and block.tone == "quiet"


def _shorten(block: Block, width: int) -> Block:
    """A cause in few lines."""
    most = _MAXIMUM_CAUSE_LINES * width - width // 2
    if not isinstance(block, Note) or len(block.text) <= most:
        return block
    return replace(block, text=f"{block.text[:most].rsplit(' ', 1)[0]} …")


def import_files(flags: argparse.Namespace, width: int) -> tuple[Block, ...]:
    """Write the run; what is shown of its rows, laid out for so many columns, and where it lies.

    Raises PlanError or ResultsError before anything is written.
    """
    formats = formats_of(flags.export)
    named = [named_path(word, "file") for word in flags.files]
    cases = cases_of([(name, read_foreign(path)) for name, path in named])
    plan = plan_of(cases)
    sort = sort_column(flags.sort, plan.percentiles) if flags.sort is not None else ""
    run = write_run(Path(flags.out) if flags.out else new_path(plan), cases)
    measurements = Rows().measured(run)
    export(run, formats, measurements=measurements)
    return shown_blocks(run, measurements, width, sort, verbose=flags.verbose)
