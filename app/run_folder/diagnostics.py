"""Diagnostics as a run folder stores them: columns of a row, sentences of earlier versions.

Journals up to schema 2 have such sentences, and so have the tables of runs of that time. Where
a
sentence is known, its diagnostic has the figures that stood in it.

Readers of a row take its diagnostics from the JSON column, so that no sentence is taken apart.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from app.cases.column import Row, Value
from app.formatting.text import one_line
from exporters.codec import CodecError, from_json, to_brief_json
from exporters.diagnostics import catalogue
from exporters.diagnostics.catalogue import (
    CATALOGUE,
    DiagnosticGroup,
    codes,
    diagnostic,
    distinct,
    grouped,
)
from exporters.diagnostics.diagnostic import Count, Diagnostic, Parameter, Quantity, Unit

LEGACY = "legacy_message"
_SEPARATOR = "; "
_FIGURE = r"[\d,]+(?:\.\d+)?"


def of_cell(cell: Value) -> tuple[Diagnostic, ...]:
    """Those of a cell in which old sentences are joined."""
    return tuple(map(of_sentence, str(cell).split(_SEPARATOR))) if cell else ()


@lru_cache(maxsize=4096)
def of_sentence(sentence: str) -> Diagnostic:
    """The diagnostic of an old sentence, `legacy_message` for one that is not known."""
    for code, pattern in _PATTERNS:
        if match := pattern.match(sentence):
            try:
                return _diagnostic(code, match.groupdict())
            except ValueError:  # figures of a form that is not known
                break
    return diagnostic(LEGACY, text=sentence)


def _diagnostic(code: str, groups: dict[str, str | None]) -> Diagnostic:
    """It has the parameters that the sentence had, which may not be all of today's."""
    entry, texts = CATALOGUE[code], {name: text or "" for name, text in groups.items()}
    subject = texts.pop("subject", "")
    values = {
        name: _value(entry.units[name], text) if name in entry.units else text
        for name, text in texts.items()
    }
    return Diagnostic(code, entry.severity, subject, values)


def _value(unit: Unit, text: str) -> Parameter:
    if isinstance(unit, Count):
        return int(text.replace(",", ""))
    if isinstance(unit, Quantity):
        figure = float(text.replace(",", ""))
        return figure / unit.factor
    return _WORDS.get(text, text)


def _pattern(text: str) -> re.Pattern[str]:
    """`<name>` stands for a figure, `<name…>` for any text, at the beginning of a sentence."""
    parts = re.split(r"<(\w+…?)>", text)
    patterns = [
        re.escape(part)
        if place % 2 == 0
        else f"(?P<{part[:-1]}>.+?)"
        if part.endswith("…")
        else f"(?P<{part}>{_FIGURE})"
        for place, part in enumerate(parts)
    ]
    return re.compile("".join(patterns) + (r"\Z" if parts[-1] == "" else ""), re.DOTALL)


_WORDS = {"slowed down": "up", "warmed up": "down", "level moves": "shift", "ahead of": "ahead"}
_SENTENCES = (
    ("rounds_differ", "the rounds' medians differ by <spread>%"),
    ("outliers", "<share>% of the samples lie more than three interquartile ranges"),
    ("far_tail", "the p99 is <ratio> times the p50"),
    ("latency_drift", "drift: <direction…> by up to <change>% in <rounds> of <timed> rounds: "),
    ("no_steady_state", "no_steady_state: the medians still moved after <warmup_s> s"),
    ("rounds_missing", "<measured> of <planned> rounds were measured: --resume"),
    (
        "samples_cut",
        "the samples of round <round> do not count, since their file holds <held> of <expected> "
        "samples: ",
    ),
    ("samples_damaged", "the samples of round <round> do not count, since their file <damage…>: "),
    ("rounds_cut_short", "<rounds> rounds ended before the <seconds> s were over"),
    ("rounds_cut_short", "<rounds> round ended before the <seconds> s were over"),
    ("accuracy_unavailable", "the accuracy could not be measured: <error…>"),
    ("cpu_oversubscribed", "more was running than this machine has cores"),
    ("cpu_governor", "the CPU governor is <governor…>: "),
    ("batch_process_on_measured_cores", "the batch process shares the measured cores"),
    ("cores_not_granted", "cores <requested…> were asked for and <granted…> were had: "),
    ("memory_not_bound", "memory could not be kept to node <node…> (<error…>): "),
    ("memory_not_locked", "memory could not be locked (<error…>): "),
    ("realtime_refused", "SCHED_FIFO <priority> was asked for and not permitted (<error…>): "),
    ("realtime_throttled", "real-time processes are held back <stopped_ms> ms of each second"),
    ("outliers_from_steal", "<outliers> of <all> outliers came while the hypervisor"),
    ("outliers_from_context_switches", "<outliers> of <all> outliers came while another thread"),
    ("outliers_from_page_faults", "<outliers> of <all> outliers came while pages came"),
    ("outliers_from_interrupts", "<outliers> of <all> outliers came while devices interrupted"),
    ("outliers_from_low_clock", "<outliers> of <all> outliers came while the core's clock"),
    ("gpu_clock_varied", "the GPU's clock moved between <low_mhz> and <high_mhz> MHz"),
    ("gpu_throttled", "the GPU's clock was held down (<reasons…>): "),
    ("gpu_shared", "<processes> other process"),
    ("gpu_persistence_off", "the GPU's persistence mode is off"),
    ("several_hosts", "its rounds were measured on <hosts…>: --merge"),
    (
        "host_lost",
        "<subject…> was lost in its round <round> (<error…>): the case was begun again on <host…>",
    ),
    ("host_changed", "<subject…> is not at hand, and <host…> begins the case again: "),
    ("host_clock_off", "the clock of <subject…> is <offset_s> s <direction…> that of the machine"),
    (
        "host_python_differs",
        "<subject…> has Python <there…> and the machine that began the run <here…>: ",
    ),
    ("precision_unknown", "<requested…> was asked for and the engine does not tell"),
    ("sync_not_granted", "sync=<requested…> was asked for and <actual…> was had: "),
    ("precision_changed", "<requested…> was asked for and <executed…> was executed"),
    ("precision_unreadable", "the executed precision could not be read (<error…>)"),
    ("precision_not_reported", "<subject…> does not tell in which type"),
    ("mixed_precision", "not all of the graph ran in <precision…>: <nodes…>"),
    ("sessions_differ", "the engine did not compile all of the sessions alike"),
    ("devices_differ", "its devices differ (<devices…>): "),
    ("threads_pinned_together", "<sessions> sessions keep to the same <threads> of <cores> cores"),
    ("option_without_effect", "execution_mode=parallel does nothing with one thread"),
    ("streams_exhausted", "PyTorch has 32 streams for a GPU"),
    ("bf16_emulated", "this processor has no products in bf16"),
    ("inputs_copied", "the module writes to its input '<inputs…>': "),
    ("engine_rebuilt", "the kept engine <reason…> and was built again"),
    ("engine_not_stored", "the engine could not be kept in <folder…>: "),
    ("engine_changed", "rounds ran <releases…> of the engine: "),
    (
        "engine_crashed_at_close",
        "the engine ended the process when its session was closed (<ending…>): ",
    ),
    ("phase_failed_too", "<phase…> failed too (<error…>)"),
    ("operators_exceed_run", "the operators' times add up to <ratio> times the p50: measure"),
    ("operators_miss_time", "the operators' times add up to <ratio> times the p50: look"),
    ("outputs_not_checked", "outputs are not compared, as --unchecked asks"),
    (
        "reference_not_deterministic",
        "not deterministic: two runs of the <references…> reference differ",
    ),
    ("outputs_have_nan", "outputs hold NaN, as the reference does: '<outputs…>'"),
    (
        "only_own_engine_agrees",
        "the outputs agree with <agreeing…> alone, which is the runtime's own "
        "engine, and not with <others…>: ",
    ),
    ("references_disagree", "the references disagree, and the outputs agree with <agreeing…>: "),
    ("state_not_finite", "the state '<subject…>' is infinite or NaN"),
    ("state_subnormal", "the state '<subject…>' is subnormal"),
    ("sizes_fixed", "the sizes are baked into the graph, one for each case: <error…>"),
    ("old_exporter", "exported by torch's old exporter, since the new one fails: <error…>"),
    ("graph_not_run", "ONNX Runtime's CPU provider has no kernel for the graph's types"),
    ("engine_disputes_graph", "ONNX Runtime without optimisation computes other outputs"),
    ("input_guessed", "inputs: '<subject…>' drawn as <values…>"),
    ("null_inputs_unread", "the null twin reads nothing of <inputs…>: every output"),
    ("few_runs", "there was time for <runs> run"),
    (
        "interval_not_reached",
        "<percentile…> within <reached> % (<requested> % asked) after <rounds> rounds: use",
    ),
    ("mixed_graphs", "its rounds measured <count> graphs (sha256 <graphs…>): "),
    ("overloaded", "<offered_hz>/s were asked for and <served_hz>/s served"),
    (
        "load_generator_late",
        "the generator was late: of a latency of <latency_us> µs at <percentile…>, <late_us> µs",
    ),
    ("pause_not_met", "the median pause was <actual_us> µs and <requested_us> µs was asked for"),
    ("private_caches_warm", "the caches that other cores have for themselves stayed warm"),
    ("device_caches_warm", "the host's caches were polluted, the device's were not"),
    ("neighbour_ended", "the neighbour <subject…> ended within the round, <ending…>"),
    ("loadgen_invalid", "LoadGen calls the run <validity…>: <reason…>"),
    ("samples_are_means", "each sample is the mean of many calls"),
)
"""Sentences by the code that stands for them today; those that others begin like come first."""
_PATTERNS = tuple((code, _pattern(text)) for code, text in _SENTENCES)


BETWEEN_CODES = ";"
WARNINGS, CODES, DIAGNOSTICS = "warnings", "warning_codes", "diagnostics"


def text(*diagnostics: Diagnostic) -> str:
    """Message and action of one, or of several of one code, as text that is safe to show."""
    return one_line(catalogue.text(*diagnostics))


def text_by_code(diagnostics: Iterable[Diagnostic]) -> str:
    """A sentence for each code, with the figures of all that have it."""
    return " ".join(text(*group.diagnostics) for group in grouped([("", diagnostics)]))


def diagnostic_columns(diagnostics: Iterable[Diagnostic]) -> Row:
    """The columns of these, each once; all empty where there is none."""
    entries = distinct(diagnostics)
    if not entries:
        return {WARNINGS: None, CODES: None, DIAGNOSTICS: None}
    return {
        WARNINGS: text_by_code(entries),
        CODES: BETWEEN_CODES.join(codes(entries)),
        DIAGNOSTICS: json.dumps([to_brief_json(entry) for entry in entries]),
    }


def diagnostics_of(row: Mapping[str, Any]) -> tuple[Diagnostic, ...]:
    """Those that the row was made with; of a row of an earlier version what its warnings say."""
    cell = row.get(DIAGNOSTICS)
    if cell:
        return _read(str(cell))
    return of_cell(row.get(WARNINGS))


def warning_groups(rows: Iterable[Mapping[str, Any]]) -> list[DiagnosticGroup]:
    """The diagnostics of these rows by code, in order of appearance."""
    return grouped((str(row["case_id"]), diagnostics_of(row)) for row in rows)


@lru_cache(maxsize=4096)
def _read(cell: str) -> tuple[Diagnostic, ...]:
    """A cell that is damaged has none; its row still shows the warnings."""
    try:
        return tuple(from_json(Diagnostic, item, finite=True) for item in json.loads(cell))
    except (CodecError, ValueError, TypeError, RecursionError):
        return ()


def codes_in(cell: Value) -> tuple[str, ...]:
    """The codes in a cell of `warning_codes`."""
    return tuple(str(cell).split(BETWEEN_CODES)) if cell else ()
