"""Number of pods that fit after changes of the nodes."""

import pytest

from stretto.api.wire.kinds import NODE, POD
from stretto.base.errors import InputError, NotFoundError
from stretto.inputs.objects.relations import InputObject
from stretto.plane.copy import SchedulingRules, StoreState
from stretto.sim.fitting import trials
from stretto.sim.fitting.changes import NodeChange
from stretto.sim.fitting.trials import FitQuestion, NodeOffer
from stretto.testing import Harness, make_node, make_pod

RULES = SchedulingRules("default", "numpy")
WANTED = InputObject(POD, "default", "web", make_pod("web", cpu="2"), "web.yaml")


def state() -> StoreState:
    """Two nodes of four CPUs; one pod of two CPUs runs."""
    harness = Harness()
    harness.create_nodes(*(make_node(name, cpu="4") for name in ("a", "b")))
    harness.submit(make_pod("one", cpu="2"))
    harness.settle()
    records = [*harness.store.list(NODE).records, *harness.store.list(POD).records]
    return StoreState("state", records)


def question(most: int = 100) -> FitQuestion:
    return FitQuestion(state(), WANTED, RULES, most)


def test_the_free_capacity_holds_three_more_pods() -> None:
    assert trials.fit(question(), NodeChange(), "now").fits == 3


def test_pods_of_a_lost_node_are_placed_first() -> None:
    trial = question()
    (running,) = [each.node for each in trial.state.records if each.node]
    answer = trials.fit(trial, NodeChange(lost=frozenset([running])), "without")
    assert (answer.fits, answer.moved, answer.unplaced) == (1, 1, 0)


def test_more_nodes_hold_more_pods() -> None:
    assert trials.fit(question(), NodeChange(added={"a": 2}), "with").fits == 7


def test_counting_ends_at_the_limit() -> None:
    answer = trials.fit(question(2), NodeChange(), "now")
    assert (answer.fits, answer.limited) == (2, True)


def test_the_fewest_new_nodes_are_bought() -> None:
    (offer,) = trials.nodes_to_buy(question(), 8)
    assert offer.nodes == 3
    assert isinstance(offer, NodeOffer)


def test_running_pods_are_packed_onto_one_node() -> None:
    assert trials.compact(state(), RULES, seed=1).nodes == 1


def test_a_missing_node_is_named() -> None:
    with pytest.raises(NotFoundError, match="node c"):
        trials.fit(question(), NodeChange(lost=frozenset("c")), "without c")


def test_a_number_of_nodes_below_one_is_refused() -> None:
    with pytest.raises(InputError, match="nodes like a"):
        trials.fit(question(), NodeChange(added={"a": 0}), "with")
