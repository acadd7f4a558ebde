"""The replay of decisions: equal to a walk in plain Python, and strict about its input."""

import numpy as np
import pytest

from stretto.base.errors import InvariantBrokenError
from stretto.base.rng import Rng
from stretto.framework.compiled.typical import weighted_pods
from stretto.inputs.neutral.fleet import Fleet, FleetNode, FleetPod
from stretto.inputs.traces.openb.figures import bundled_openb
from stretto.inputs.traces.openb.protocol import typical_pods
from stretto.sim.comparison.fragmentation import (
    ArrivalDecisions,
    FragmentationCurve,
    fleet_columns,
    replay,
    whole_percents,
)
from stretto.sim.policies import kinds_of
from stretto.state.rows.devices import DeviceColumns
from tests.support.references import openb as reference


def walk(fleet: Fleet, made: ArrivalDecisions) -> FragmentationCurve:
    """The same curve, one arrival after another."""
    nodes = [reference.Node(node) for node in fleet.nodes]
    typical = tuple(reference.kinds(fleet.pods))
    used, milli, lost = 0, [], []
    for row, node, mask in zip(*(column.tolist() for column in made), strict=True):
        pod = fleet.pods[row]
        if node >= 0:
            nodes[node].place(pod, tuple(i for i in range(8) if mask >> i & 1))
            used += pod.gpu_milli_total
        milli.append(used)
        lost.append(sum(reference.fragmented(typical, each) for each in nodes))
    return FragmentationCurve(np.array(milli), np.array(lost))


def replayed(fleet: Fleet, made: ArrivalDecisions) -> FragmentationCurve:
    numbers = DeviceColumns()
    for node in fleet.nodes:
        numbers.model_number(node.gpu_model)
    typical = weighted_pods(kinds_of(typical_pods(fleet.pods)), numbers)
    return replay(fleet, fleet_columns(fleet, numbers.model_names), made, typical)


def test_the_replay_equals_a_plain_walk() -> None:
    whole = bundled_openb()
    drawn = Rng(3).child("pods").numpy().permutation(len(whole.pods))[:150].tolist()
    fleet = Fleet(whole.nodes[::60], tuple(whole.pods[row] for row in drawn))
    order, rows = list(range(len(fleet.nodes))), list(range(150))
    found = reference.decide(fleet, order, rows, "best-fit", [0] * 150)
    masks = [sum(1 << i for i in gpus) for _, gpus in found]
    made = ArrivalDecisions(np.array(rows), np.array([node for node, _ in found]), np.array(masks))
    ours, theirs = replayed(fleet, made), walk(fleet, made)
    assert ours.allocated.tolist() == theirs.allocated.tolist()
    assert ours.fragmented == pytest.approx(theirs.fragmented, abs=1e-6)


def test_a_node_that_gives_more_than_it_has_is_a_broken_law() -> None:
    fleet = Fleet((FleetNode("n7", 4000, 1024, 1, "T4"),), (FleetPod("p", 1000, 1, 1, 600),) * 2)
    twice = ArrivalDecisions(np.array([0, 1]), np.array([0, 0]), np.array([1, 1]))
    with pytest.raises(InvariantBrokenError, match="node n7 is over-committed"):
        replayed(fleet, twice)


def test_a_run_that_places_nothing_has_a_level_curve() -> None:
    fleet = Fleet((FleetNode("n", 4000, 1024, 2, "T4"),), (FleetPod("p", 1000, 1, 4, 1000),))
    curve = replayed(fleet, ArrivalDecisions(np.array([0]), np.array([-1]), np.array([0])))
    assert (curve.allocated.tolist(), curve.fragmented.tolist()) == ([0], [2000.0])


def test_values_are_averaged_within_a_rounded_percent() -> None:
    percents, [means] = whole_percents(np.array([0.4, 0.6, 1.4, 2.0]), np.array([1.0, 2, 4, 8]))
    assert (percents.tolist(), means.tolist()) == ([0, 1, 2], [1.0, 3.0, 8.0])


def test_a_percent_at_which_nothing_arrives_keeps_the_state_before_it() -> None:
    percents, [means] = whole_percents(np.array([2.0, 2.2, 5.0]), np.array([10.0, 20, 30]))
    assert (percents.tolist(), means.tolist()) == ([2, 3, 4, 5], [15.0, 20.0, 20.0, 30.0])


def test_no_arrival_is_no_point() -> None:
    percents, [means] = whole_percents(np.zeros(0), np.zeros(0))
    assert (len(percents), len(means)) == (0, 0)
