"""Runs of earlier versions have sentences where there are codes today."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.cases.round import RoundResult
from app.run_folder import journal
from app.run_folder.diagnostics import LEGACY, diagnostics_of, of_cell, of_sentence, warning_groups
from app.run_folder.journal import ModelExported
from exporters.diagnostics import catalogue as rendering
from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic
from exporters.types import ExportedModel

KNOWN = (
    ("fp32 was asked for and bf16 was executed",
     diagnostic("precision_changed", requested="fp32", executed="bf16")),
    ("sync=spin was asked for and block was had: measure it in a process of its own",
     diagnostic("sync_not_granted", requested="spin", actual="block")),
    ("no_steady_state: the medians still moved after 3.3 s: use a quieter machine, or --profile "
     "standard", diagnostic("no_steady_state", warmup_s=3.3)),
    ("the rounds' medians differ by 12%: use more rounds or a quieter machine",
     diagnostic("rounds_differ", spread=0.12)),
    ("memory could not be locked (Cannot allocate memory): run as root, with CAP_IPC_LOCK, or "
     "raise ulimit -l", diagnostic("memory_not_locked", error="Cannot allocate memory")),
    ("SCHED_FIFO 3 was asked for and not permitted (Operation not permitted): run as root",
     diagnostic("realtime_refused", priority=3, error="Operation not permitted")),
    ("the state 'total' is subnormal after the timed runs: their latency is not that of ordinary "
     "values; use a model or inputs that keep it bounded", diagnostic("state_subnormal", "total")),
    ("inputs: 'n' drawn as 1", diagnostic("input_guessed", "n", values="1")),
    ("board was lost in its round 1 (gone): the case was begun again on server",
     diagnostic("host_lost", "board", round=1, error="gone", host="server")),
    ("1,200 of 4,800 outliers came while another thread had the core (involuntary switch): stop",
     diagnostic("outliers_from_context_switches", outliers=1200, all=4800)),
)  # fmt: skip


@pytest.mark.parametrize(("sentence", "expected"), KNOWN)
def test_a_known_sentence_has_its_code_and_figures(sentence: str, expected: Diagnostic) -> None:
    assert of_sentence(sentence) == expected


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("engine_crashed_at_close",
         "the engine ended the process when its session was closed (signal SIGSEGV): update it"),
        ("engine_rebuilt", "the kept engine damaged and was built again"),
        ("neighbour_ended", "the neighbour mlp ended within the round, by signal 9"),
    ],
)  # fmt: skip
def test_a_sentence_whose_code_has_other_parameters_today_is_read(code: str, sentence: str) -> None:
    result = of_sentence(sentence)
    assert result.code == code
    assert rendering.text(result)


def test_a_diagnostic_with_former_parameters_is_read_and_shown() -> None:
    """As journals of schema 3 have it."""
    line = journal.decode_line(
        {
            "kind": "round", "case_id": "a", "round": 0, "status": "ok",
            "warnings": [
                {"code": "engine_crashed_at_close", "parameters": {"ending": "signal SIGSEGV"}}
            ],
        },
        3,
    )  # fmt: skip
    assert isinstance(line, RoundResult)
    (warning,) = line.warnings
    assert "signal SIGSEGV" in rendering.text(warning)


def test_a_sentence_without_figures_has_its_code_and_is_shown() -> None:
    warning = of_sentence("more was running than this machine has cores: stop other work")
    assert (warning.code, warning.parameters) == ("cpu_oversubscribed", {})
    assert rendering.text(warning)
    whole = diagnostic("cpu_oversubscribed", load_1min=4.0, cores=2)
    assert rendering.text(warning, whole) == rendering.text(whole), (
        "figures are those that are known"
    )


@pytest.mark.parametrize("sentence", ["something nobody wrote", "", "-1 of x", "<script>: {0}"])
def test_an_unknown_sentence_is_kept_whole(sentence: str) -> None:
    warning = of_sentence(sentence)
    assert warning == diagnostic(LEGACY, text=sentence)
    assert rendering.message(warning) == sentence


def test_a_table_of_an_earlier_version_is_grouped_by_code() -> None:
    template = "the rounds' medians differ by {}%: use more rounds or a quieter machine"
    rows: list[dict[str, Any]] = [
        {"case_id": "a", "warnings": f"{template.format(5)}; something nobody wrote"},
        {"case_id": "b", "warnings": template.format(12)},
        {"case_id": "c", "warnings": None},
    ]
    groups = warning_groups(rows)
    assert [(group.code, group.case_ids) for group in groups] == [
        ("rounds_differ", ("a", "b")),
        (LEGACY, ("a",)),
    ]
    assert [group.parameters["spread"] for group in groups[0].diagnostics] == [0.05, 0.12]
    assert of_cell(None) == diagnostics_of(rows[2]) == ()


@pytest.mark.parametrize("schema", [1, 2, 3])
def test_rounds_and_models_of_every_schema_are_read(schema: int) -> None:
    sentence = "the engine did not compile all of the sessions alike"
    values = {
        "kind": "round", "case_id": "a", "round": 0, "status": "ok",
        "warnings": [sentence, {"code": "few_rounds", "parameters": {"rounds": 2}}],
    }  # fmt: skip
    line = journal.decode_line(json.loads(json.dumps(values)), schema)
    assert isinstance(line, RoundResult)
    assert line.warnings == (diagnostic("sessions_differ"), diagnostic("few_rounds", rounds=2))
    assert journal.decode_line(journal.line_values(line), 3) == line


def test_a_model_of_an_earlier_version_says_why_nothing_was_compared() -> None:
    model = ExportedModel(
        name="m", suite="", family="", path="m.onnx", sha256="", opset=17, precision="fp32",
        inputs=(), outputs=(), axes={}, references={}, reference="",
    )  # fmt: skip
    values = journal.line_values(ModelExported("m", "fp32", model))
    for old, expected in (
        ("outputs are not compared, as --unchecked asks", diagnostic("outputs_not_checked")),
        ("", None),
    ):
        values["model"] |= {"uncompared": old, "warnings": ["inputs: 'n' drawn as 1"]}
        line = journal.decode_line(values, 2)
        assert isinstance(line, ModelExported)
        assert line.model.uncompared == expected
        assert line.model.warnings == (diagnostic("input_guessed", "n", values="1"),)
