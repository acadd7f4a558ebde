"""Adapter from recorded inputs of Koordinator's descheduler to the rebalancing models."""

from typing import Any

import msgspec

from stretto.base.amounts import total_of
from stretto.capacity.model.classes import Band
from stretto.framework.profile.capacity.hot_nodes import AnomalyRule
from stretto_lab.conformance.capacity.pods import kube_qos
from stretto_lab.models.koordinator import classes
from stretto_lab.models.koordinator.demand import ContainerDemand
from stretto_lab.models.koordinator.load.rebalance import (
    LoadMove,
    MovablePod,
    Rebalancer,
    RebalanceRules,
)
from stretto_lab.models.koordinator.load.thresholds import (
    FULL,
    LoadClass,
    LoadedMember,
    LoadLimits,
    Percents,
)

Fields = dict[str, Any]
"""The members of an input or of a result."""
_ENDED = ("Failed", "Succeeded")


class AnomalyInput(msgspec.Struct, frozen=True):
    """Conditions under which a loaded node acts."""

    consecutive_abnormal: int = 1
    consecutive_normal: int = 0
    timeout_s: float = 0


class RebalanceArgs(msgspec.Struct, frozen=True):
    """Arguments of the plugin."""

    low: dict[str, float]
    high: dict[str, float]
    weights: dict[str, int]
    prod_low: dict[str, float] = {}
    prod_high: dict[str, float] = {}
    node_fit: bool = False
    use_deviation: bool = False
    expiration_s: float = float("inf")
    number_of_nodes: int = 0
    dry_run: bool = False
    anomaly: AnomalyInput = AnomalyInput()

    def rules(self) -> RebalanceRules:
        """The rules of the pool."""
        anomaly = self.anomaly
        return RebalanceRules(
            LoadLimits(
                Percents(self.low, self.high),
                Percents(self.prod_low, self.prod_high),
                self.use_deviation,
            ),
            self.weights,
            self.node_fit,
            self.number_of_nodes,
            AnomalyRule(
                anomaly.consecutive_abnormal,
                anomaly.consecutive_normal,
                anomaly.timeout_s or AnomalyRule().timeout_seconds,
            ),
        )


class LoadedPodInput(msgspec.Struct, frozen=True):
    """A pod."""

    name: str
    created_ago_s: float = 0
    usage: dict[str, int] | None = None
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    qos: str = ""
    priority_class: str = ""
    priority: int | None = None
    phase: str = "Running"
    deletion_cost: int = 0
    eviction_cost: int = 0
    not_evictable: bool = False
    eviction_fails: bool = False

    def pod(self, node: str) -> MovablePod:
        """The pod as input of the model."""
        kube = kube_qos((ContainerDemand(self.requests, self.limits),))
        qos = classes.qos_of(self.qos, kube)
        return MovablePod(
            self.name,
            node,
            self.usage,
            self.requests,
            classes.band_of(self.priority_class, self.priority, qos),
            self.priority or 0,
            kube,
            qos,
            self.deletion_cost,
            self.eviction_cost,
            self.created_ago_s,
            not self.not_evictable,
        )


class LoadedNodeInput(msgspec.Struct, frozen=True):
    """A node."""

    name: str
    allocatable: dict[str, int]
    raw_allocatable: dict[str, int] = {}
    metric_age_s: float | None = None
    system_usage: dict[str, int] = {}
    usage_of_gone_pods: dict[str, dict[str, int]] = {}
    pods: tuple[LoadedPodInput, ...] = ()
    unschedulable: bool = False

    def member(self, resources: list[str]) -> LoadedMember:
        """The node as input of the model; usage is measured in ``resources``."""
        present = [each for each in self.pods if each.phase not in _ENDED]
        measured = [each.usage or {} for each in self.pods]
        online = [each for each in present if each.pod(self.name).band is Band.PROD]
        usage = total_of([self.system_usage, *self.usage_of_gone_pods.values(), *measured])
        prod = total_of([each.usage or {} for each in online])
        usage["pods"] = len(present)
        prod["pods"] = len(online)
        return LoadedMember(
            self.name,
            {**self.allocatable, **self.raw_allocatable},
            self.allocatable,
            {name: usage.get(name, 0) for name in resources},
            {name: prod.get(name, 0) for name in resources},
            self.unschedulable,
        )


class RebalanceInput(msgspec.Struct, frozen=True):
    """The input of the family ``ko_lownodeload``."""

    args: RebalanceArgs
    nodes: tuple[LoadedNodeInput, ...]
    rounds: int = 1
    round_interval_s: float = 0


def low_node_load(given: Fields) -> Fields:
    """``ko_lownodeload``: classes, and the evictions of each round."""
    fields = msgspec.convert(given, RebalanceInput)
    rules = fields.args.rules()
    rebalancer = Rebalancer(rules)
    valid = [
        each
        for each in fields.nodes
        if each.metric_age_s is not None and each.metric_age_s < fields.args.expiration_s
    ]
    failing = {p.name for node in fields.nodes for p in node.pods if p.eviction_fails}
    rounds = []
    shown: Fields = {}
    for index in range(fields.rounds):
        moves: list[LoadMove] = []

        def attempt(move: LoadMove, moves: list[LoadMove] = moves) -> bool:
            if move.pod.name in failing:
                return False
            if not fields.args.dry_run:
                moves.append(move)
            return True

        members = [each.member(rules.limits.resources) for each in valid]
        pods = [p.pod(n.name) for n in valid for p in n.pods if p.phase not in _ENDED]
        found = rebalancer.round(index * fields.round_interval_s, members, pods, attempt)
        if not index:
            shown = {each.value: [m.name for m in found[each]] for each in LoadClass}
        result: Fields = {"evicted": [each.pod.name for each in moves]}
        if moves and not index:
            result["over"] = [_over(each, fields.args) for each in moves]
        rounds.append(result)
    return {"classes": shown, "rounds": rounds}


def _over(move: LoadMove, args: RebalanceArgs) -> list[list[Any]]:
    kind, limits = ("prod", args.prod_high) if move.prod else ("node", args.high)
    missing = 0.0 if args.use_deviation else FULL
    return [
        [kind, name, round(percent, 2), float(limits.get(name, missing))]
        for name, percent in move.over
    ]
