"""Koordinator's filter and thresholds by load in rare states."""

from dataclasses import replace

from stretto.framework.profile.capacity.hot_nodes import AnomalyRule
from stretto_lab.models.koordinator.load import rules, thresholds
from stretto_lab.models.koordinator.load.rebalance import (
    LoadMove,
    MovablePod,
    Rebalancer,
    RebalanceRules,
)
from stretto_lab.models.koordinator.load.rules import IncomingPod, LoadedNode, LoadRules, Thresholds
from stretto_lab.models.koordinator.load.thresholds import LoadedMember, LoadLimits, Percents
from stretto_lab.models.koordinator.load.usage import NodeReport, Percentile

BUSY = LoadedNode({"cpu": 1000}, NodeReport({"cpu": 990}))
LIMITS = Thresholds({"cpu": 65}, {}, {"cpu": 0}, Percentile("p95"))


def test_percentile_limits_of_zero_disable_the_other_limits() -> None:
    assert rules.reject(BUSY, IncomingPod({}), LIMITS, LoadRules(LIMITS)) is None


def test_limits_of_the_latest_use_apply_without_percentile_limits() -> None:
    limits = replace(LIMITS, percentile={})
    assert rules.reject(BUSY, IncomingPod({}), limits, LoadRules(limits)) is not None


def bounds_of(low: dict[str, float], high: dict[str, float]) -> thresholds.LoadBounds:
    member = LoadedMember("n", {"cpu": 100, "memory": 100}, {}, {}, {})
    limits = LoadLimits(Percents(low, high))
    return thresholds.bounds([member], limits)["n"].node


def test_a_high_threshold_without_a_low_one_is_ignored() -> None:
    assert bounds_of({"memory": 10}, {"memory": 20, "cpu": 20}).high == {"cpu": 100, "memory": 20}


def test_a_resource_with_a_low_threshold_only_is_high_when_used() -> None:
    assert bounds_of({"memory": 10}, {}).high == {"memory": 0}


def test_thresholds_above_the_allocatable_amount_are_kept() -> None:
    assert bounds_of({"memory": 10}, {"memory": 120}).high == {"memory": 120}


def moves_of_round(rebalancer: Rebalancer, number: int, *, idle: int) -> int:
    """Moves of a round with a hot node and a node with this use."""
    members = [
        LoadedMember(name, {"cpu": 100, "memory": 100}, {}, {"cpu": use}, {})
        for name, use in (("hot", 90), ("other", idle))
    ]
    moves: list[LoadMove] = []
    pods = [MovablePod("p", "hot", {"cpu": 50})]
    rebalancer.round(60.0 * number, members, pods, lambda move: not moves.append(move))
    return len(moves)


def test_hot_rounds_without_a_receiver_count() -> None:
    limits = LoadLimits(Percents({"cpu": 30}, {"cpu": 50}))
    rebalancer = Rebalancer(RebalanceRules(limits, {"cpu": 1}, fit=False, anomaly=AnomalyRule(2)))
    idle = [40, 40, 10]
    assert [moves_of_round(rebalancer, i, idle=use) for i, use in enumerate(idle)] == [0, 0, 1]
