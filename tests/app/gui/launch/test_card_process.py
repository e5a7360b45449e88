"""The window asks the card for a schedule: it gets one, or one sentence, and only for a card."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from app.capabilities.simulated_card.inference import CardRun
from app.cases.case import Case
from app.gui.launch.own_command import CardProcess
from app.runs.following.state import CaseDetails
from exporters.types import GraphlapError
from tests.runtimes.graphs import Graphs


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Graphs:
    return Graphs(Path(tmp_path_factory.mktemp("graphs")))


def answered(card: CardProcess) -> CardRun | GraphlapError:
    """What the process answers, within half a minute."""
    for _ in range(300):
        answer = card.poll()
        if answer is not None:
            return answer
        time.sleep(0.1)
    raise AssertionError("the card did not answer")


def test_a_case_on_a_card_gets_its_schedule(graphs: Graphs) -> None:
    card = CardProcess()
    case = Case("step.onnx", "fpga:ia-420f", axes={"batch": 1})
    assert card.ask(CaseDetails(case, graphs.step))
    answer = answered(card)
    assert isinstance(answer, CardRun), answer
    assert (answer.model, answer.card) == (graphs.step.name, "IA-420F")
    assert answer.cycles == max(event.done for event in answer.events)


def test_a_graph_that_is_gone_is_a_sentence(graphs: Graphs) -> None:
    card, model = CardProcess(), graphs.save("gone", [], graphs.dense.inputs, graphs.dense.outputs)
    Path(model.path).unlink()
    assert card.ask(CaseDetails(Case("gone.onnx", "fpga"), model))
    answer = answered(card)
    assert isinstance(answer, GraphlapError)
    assert "gone.onnx" in answer.cause and answer.remedy


def test_a_case_that_is_really_measured_is_not_asked_about(graphs: Graphs) -> None:
    case = Case("step.onnx", "ort-cpu", axes={"batch": 1})
    assert not CardProcess().ask(CaseDetails(case, graphs.step))
