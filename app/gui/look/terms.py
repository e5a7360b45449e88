"""The words of the subject, each in a sentence: what tooltips and the glossary show."""

from __future__ import annotations

import re

from app.cases.scenario import FORMS
from app.plan.settings.table import SETTINGS

_FLAG = re.compile(r"--[a-z][a-z-]*[a-z]")
_FIELDS = {row.flag: f"“{row.label.replace('&', '')}”" for row in SETTINGS if row.label}


def in_fields(text: str) -> str:
    """The sentence with the names of fields where it has options of the command line."""
    return _FLAG.sub(lambda match: _FIELDS.get(match[0], match[0]), text)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


_OF_SETTINGS = {row.term: _sentence(in_fields(row.help)) for row in SETTINGS if row.label}
TERMS: dict[str, str] = {
    **_OF_SETTINGS,
    **{kind.replace("_", " "): form.meaning for kind, form in FORMS.items()},
    "case": "One point of a sweep: one model on one runtime, with its precision, batch size, "
    "sequence length, threads, options and scenario all fixed.",
    "round": "One measuring process of a case. Every case is measured in several of them, because "
    "processes differ more than iterations do.",
    "p50": "The median: half of the inferences took at most this long.",
    "p90": "Nine of ten inferences took at most this long.",
    "p99": "99 of 100 inferences took at most this long. It needs at least 368 samples for an "
    "interval with 95 % confidence.",
    "needed": "What the p99 still lacks: independent samples of all rounds, then rounds until its "
    "interval is within 5 %.",
    "p99.9": "999 of 1000 inferences took at most this long. It needs at least 3,688 samples.",
    "interval": "The range that holds the true value with 95 % confidence, the wider of the one "
    "from ranks and the one between processes.",
    "provisional": "Read from histogram bins while the round runs, good to about 1.2 %; it is "
    "recomputed from the raw samples when the round ends.",
    "spacing": "The idle time between the end of one inference and the start of the next. Caches "
    "and clocks cool down in it, so spaced latencies are often longer.",
    "service time": "From the start of a run to its end, without its wait.",
    "queueing": "From when a run was due to its start: its wait for earlier runs.",
    "wait policy": "How the gap is waited out: spinning keeps the core awake and is exact, "
    "sleeping lets it rest and wakes up to 0.1 ms late, hybrid sleeps first and then spins.",
    "boundary": "Where the outputs are complete when the clock stops: in the host's memory, or "
    "on the device.",
    "clock": "The source of the time: the wall clock of this machine, the device's own, or a "
    "simulation, which is never a wall time.",
    "length": "How long to measure: quick for a first look, standard for comparing, publication "
    "for figures that others will quote.",
    "batch": "How many inputs one inference takes at once. Several sizes, with commas, make "
    "several cases.",
    "threads": "How many threads the engine may compute with; 0 leaves the number to the engine.",
    "precision": "The number format of the exported graph. The format that the engine executes is "
    "read from the compiled graph and shown next to it.",
    "batcher": "A dynamic batcher before the model, such as max=8,wait=2ms: requests are sent "
    "together up to this number, and none waits longer. Several with semicolons.",
    "compare outputs": "Compare outputs with a reference. Without it wrong outputs are not "
    "detected.",
    "warm-up": "Inferences before the measurement, until their median is stable. They are kept, "
    "shaded, and never counted.",
    "simulated": "Computed from a schedule of the card, not measured with a clock.",
    "partial": "A node of the graph ran outside the engine of the row, so the row is kept but not "
    "ranked.",
    "doubted": "The row has warnings, or is partial: it is hollow in plots and `ok !` in the "
    "table. The badge next to the run's name lists all warnings of a run, with actions.",
    "published": "A figure printed in a source document: a reference, never a result of this "
    "machine.",
}
