"""The studies of resource offers."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from stretto.cli.main import cli
from stretto.offers.allocator.subjects.settings import MESOS
from stretto_lab.studies.offers.designs import OfferDesign, run_design
from stretto_lab.studies.offers.questions import answers

SIZES = (10, 11, 60)


@pytest.mark.parametrize(
    ("nodes", "equal", "weighted", "back"),
    [
        (10, (5, 5), (4, 6), (3, 7)),
        (11, (6, 5), (4, 7), (4, 7)),
        (60, (30, 30), (20, 40), (20, 40)),
    ],
)
def test_the_answers_are_those_of_a_recorded_mesos_master(
    nodes: int, equal: tuple[int, int], weighted: tuple[int, int], back: tuple[int, int]
) -> None:
    found = [figure.value for figure in answers(MESOS, nodes, seed=1)]
    assert (found[0], found[4], found[7]) == (equal, weighted, back)


def test_a_node_is_whole_in_a_cycle_and_divided_by_a_limit() -> None:
    found = {each.what: each.value for each in answers(MESOS, 10, seed=1) if each.question == 2}
    assert found["nodes divided in one cycle"] == (0,)
    assert found["nodes divided under a limit of 1.5 CPUs for the first"] == (9,)


def test_optimistic_offers_place_the_work_in_one_decision_time() -> None:
    one = run_design(OfferDesign.OPTIMISTIC, 10, 10.0, seed=1)
    other = run_design(OfferDesign.PESSIMISTIC, 10, 10.0, seed=1)
    assert (one.all_s, other.all_s) == (10.0, 20.0)


def test_one_queue_needs_a_decision_time_for_each_framework() -> None:
    assert run_design(OfferDesign.QUEUE, 10, 10.0, seed=1).all_s == 100.0


def test_the_commands_write_figures(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    words = ["study", "five-questions", "--nodes", "10", "--json", str(out)]
    assert CliRunner().invoke(cli, words).exit_code == 0
    assert len(json.loads(out.read_text())["figures"]) == 11
    words = ["study", "offers", "--frameworks", "2", "--decisions", "1", "--json", str(out)]
    assert CliRunner().invoke(cli, words).exit_code == 0
    assert len(json.loads(out.read_text())["points"]) == len(OfferDesign)


def test_more_work_than_the_pool_holds_is_refused() -> None:
    words = ["study", "offers", "--frameworks", "62", "--decisions", "1"]
    result = CliRunner().invoke(cli, words)
    assert (result.exit_code, "at most 61" in result.output) == (2, True)
