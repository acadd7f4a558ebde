"""``LoadAware`` filters and scores by measured load as Koordinator's plugin of this name does.

``docs/parity/capacity.md`` lists the differences on purpose. The drawn nodes avoid them: every pod
requests amounts without limits whose parts are whole, each pod is either part of a settled
measurement or came after it, and no pod left.
"""

import json
import math
from typing import Any

import msgspec
import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE
from stretto.base.clock import timestamp
from stretto.capacity.load.estimate import estimate
from stretto.framework.contract.rule import View
from stretto.framework.plugins.load_aware import EXPIRED, HOT, PERCENTILES, LoadAwareRule
from stretto.state.ingest.node_reports import apply_reports
from stretto.state.rows.snapshot import Columns
from stretto.stores.store import EventType, WatchEvent
from stretto.testing import make_node, make_pod
from stretto_lab.models.koordinator.load import rules as koordinator
from stretto_lab.models.koordinator.load.rules import (
    Exceeded,
    Expired,
    IncomingPod,
    LoadedNode,
    LoadRules,
    Thresholds,
)
from stretto_lab.models.koordinator.load.usage import (
    AssignedPod,
    NodeReport,
    Percentile,
    ReportedUse,
)
from tests.support.hand_fed_cluster import ClusterFeed

MIB = 1 << 20
NOW = 1_000_000.0
SIZE = {"cpu": 10_000, "memory": 10_000 * MIB}
SETTLED_S = 1e6
Requests = tuple[int, int]
"""Units of 100 milli-CPU, and of 100 MiB."""


class DrawnNode(msgspec.Struct):
    """A node: its measurements (the last one is newest), their age, pods in them, later pods."""

    uses: list[tuple[int, int]]
    age: int
    reported: list[Requests]
    later: list[Requests]


class DrawnRule(msgspec.Struct):
    """Arguments of the rule."""

    thresholds: dict[str, int]
    factors: dict[str, int]
    weights: dict[str, int]
    percentiles: tuple[str, str]
    refuses_old: bool

    def args(self) -> dict[str, Any]:
        keys = ("usageAggregationType", "scoreAggregationType")
        aggregated = {k: name for k, name in zip(keys, self.percentiles, strict=True) if name}
        return {
            "usageThresholds": self.thresholds,
            "estimatedScalingFactors": self.factors,
            "resources": [{"name": n, "weight": w} for n, w in self.weights.items()],
            "filterExpiredNodeMetrics": self.refuses_old,
            **({"aggregated": aggregated} if aggregated else {}),
        }

    def rules(self) -> LoadRules:
        filtered, scored = (Percentile(name) for name in self.percentiles)
        chosen = self.thresholds if filtered.name else {}
        limits = Thresholds(self.thresholds, {}, chosen, filtered)
        expired = Expired.REJECT if self.refuses_old else Expired.PASS
        return LoadRules(limits, self.weights, score_by=scored, when_expired=expired)


requests = st.tuples(st.integers(1, 30), st.integers(1, 30))
uses = st.integers(0, 210).map(lambda half_percents: 50 * half_percents)
drawn_nodes = st.builds(
    DrawnNode,
    st.lists(st.tuples(uses, uses), max_size=4),
    st.sampled_from([0, 60, 179, 181, 600]),
    st.lists(requests, max_size=2),
    st.lists(requests, max_size=2),
)
percents = st.integers(1, 100)
factors = st.sampled_from([50, 85, 100])
names = st.sampled_from(["", "", *PERCENTILES])
drawn_rules = st.builds(
    DrawnRule,
    st.fixed_dictionaries({"cpu": percents, "memory": st.integers(0, 100)}),
    st.fixed_dictionaries({"cpu": factors, "memory": factors}),
    st.sampled_from([{"cpu": 1, "memory": 1}, {"cpu": 3, "memory": 1}, {"memory": 2}]),
    st.tuples(names, names),
    st.booleans(),
)


def pod(name: str, request: Requests, node: str = "") -> bytes:
    amounts = {"cpu": f"{100 * request[0]}m", "memory": f"{100 * request[1]}Mi"}
    return make_pod(name, **amounts, **({"node": node} if node else {}))


class Product:
    """The rule of the product over drawn nodes."""

    def __init__(self, nodes: list[DrawnNode], rule: DrawnRule) -> None:
        self.feed, self.rule = ClusterFeed(), LoadAwareRule(rule.args())
        for number, each in enumerate([*nodes, DrawnNode([(0, 0)], 0, [], [])]):
            self.add(f"n{number}", each)
        self.slots = np.array([self.feed.slot(f"n{i}") for i in range(len(nodes))], np.int64)

    def add(self, name: str, node: DrawnNode) -> None:
        self.feed.node(make_node(name, cpu="10", memory="10000Mi"))
        for number, request in enumerate(node.reported if node.uses else []):
            self.feed.pod(pod(f"{name}-r{number}", request, name))
        for number, use in enumerate(node.uses):
            self.report(name, use, NOW - node.age - 60 * (len(node.uses) - 1 - number))
        for number, request in enumerate(node.later):
            self.feed.pod(pod(f"{name}-l{number}", request, name))

    def report(self, name: str, use: tuple[int, int], at: float) -> None:
        stated = {"cpu": f"{use[0]}m", "memory": f"{use[1]}Mi"}
        metric = {"updateTime": timestamp(at), "nodeMetric": {"genericUsage": stated}}
        body = {"metadata": {"name": name}, "status": {"nodeMetricStatus": metric}}
        record = self.feed.record(CUSTOM_NODE_RESOURCE, json.dumps(body).encode())
        apply_reports(self.feed.cluster, [WatchEvent(EventType.MODIFIED, record)])

    def judge(self, request: Requests) -> tuple[list[set[str]], list[int]]:
        """Reasons and score of each node for a new pod."""
        cluster = self.feed.cluster
        class_id = self.feed.class_of(pod("new", request))
        columns = Columns(cluster.ledger)
        columns.sync()
        view = View(columns, cluster.nodes)
        judged = cluster.classes[class_id]
        reasons: list[set[str]] = [set() for _ in self.slots]
        for reason, mask, *_ in self.rule.refusals(judged, view, self.slots):
            for place in np.flatnonzero(mask).tolist():
                reasons[place].add(reason)
        passes = self.rule.filter(judged, view, self.slots).tolist()
        assert passes == [not each for each in reasons]
        return reasons, self.rule.score(judged, view, self.slots).tolist()


def amounts(use: tuple[int, int]) -> dict[str, int]:
    return {"cpu": use[0], "memory": use[1] * MIB}


def estimated(request: Requests, rule: DrawnRule) -> dict[str, int]:
    whole = {"cpu": 100 * request[0], "memory": 100 * request[1] * MIB}
    return estimate(whole, {}, rule.factors)


def percentiles(uses: list[tuple[int, int]]) -> dict[str, dict[str, int]]:
    """The smallest use that so many percent of the measurements do not exceed."""
    found = {}
    for name, percent in PERCENTILES.items():
        rank = max(1, math.ceil(percent / 100 * len(uses)))
        cpu, memory = (sorted(use[i] for use in uses)[rank - 1] for i in (0, 1))
        found[name] = amounts((cpu, memory))
    return found


def loaded(node: DrawnNode, rule: DrawnRule) -> LoadedNode:
    """A drawn node as input of the model; nothing is measured without a report."""
    known = node.reported if node.uses else []
    assigned = [
        *(AssignedPod(f"r{i}", estimated(e, rule), False, SETTLED_S) for i, e in enumerate(known)),
        *(AssignedPod(f"l{i}", estimated(e, rule)) for i, e in enumerate(node.later)),
    ]
    if not node.uses:
        return LoadedNode(SIZE, None, tuple(assigned))
    reported = {f"r{i}": ReportedUse({"cpu": 1}) for i in range(len(known))}
    report = NodeReport(
        amounts(node.uses[-1]), {}, {900.0: percentiles(node.uses)}, reported, float(node.age)
    )
    return LoadedNode(SIZE, report, tuple(assigned))


HALF_ABOVE = DrawnNode([(6450, 0)], 0, [], [])
BELOW_HALF = DrawnNode([(6449, 0)], 0, [], [])
PLAIN = DrawnRule(
    {"cpu": 65, "memory": 0}, {"cpu": 100, "memory": 100}, {"cpu": 1}, ("", ""), False
)


def reason(exceeded: Exceeded) -> str:
    return HOT.format(exceeded.resource) if exceeded.resource else EXPIRED


@settings(max_examples=100)
@example([HALF_ABOVE, BELOW_HALF], PLAIN, (1, 1))
@given(st.lists(drawn_nodes, min_size=1, max_size=4), drawn_rules, requests)
def test_nodes_are_refused_and_scored_as_by_koordinator(
    nodes: list[DrawnNode], rule: DrawnRule, request: Requests
) -> None:
    reasons, scores = Product(nodes, rule).judge(request)
    incoming, rules = IncomingPod(estimated(request, rule)), rule.rules()
    for node, found, score in zip([loaded(n, rule) for n in nodes], reasons, scores, strict=True):
        refused = koordinator.reject(node, incoming, rules.thresholds, rules)
        assert found == set() if refused is None else reason(refused) in found
        assert abs(score - koordinator.score(node, incoming, rules)) <= 1
