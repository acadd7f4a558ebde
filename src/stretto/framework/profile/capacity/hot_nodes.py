"""The ``rebalance`` settings of a profile: thresholds of node load, and limits of moves.

    stretto:
      rebalance:
        everySeconds: 120
        high: {cpu: 70, memory: 80}
        pools:
          - {nodeSelector: "tier=batch", low: {cpu: 60, memory: 60}, high: {cpu: 85, memory: 85}}
          - {}
        dryRun: true

The thresholds are percentages of the real amounts, as in Koordinator's LowNodeLoad. With
``deviation`` they are distances from the mean of the pool. The settings of pools may also be
written beside ``pools``; a pool without a setting has that value. A dry run only counts and
reports; it is the default.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from stretto.api.wire.selectors import Selector, parse_labels
from stretto.base.errors import InputError
from stretto.framework.contract import arguments as read
from stretto.framework.contract.speeds import CpuSpeeds, read_speeds
from stretto.framework.profile.capacity.section import check_ranges, read_section

RESOURCES: Final = ("cpu", "memory")
"""Measured resources."""
LONGEST_S: Final = 7 * 86_400.0
"""Longest interval in seconds: a week."""
MOST: Final = 10_000
"""Largest number of moves, receivers and rounds."""


class AnomalyRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Conditions under which a hot node is unloaded; Koordinator's ``anomalyCondition``."""

    #: Consecutive hot rounds after which the next hot round is abnormal; 1 needs no earlier round.
    abnormal: int = 5
    #: Consecutive normal rounds after which the next normal round ends the abnormal state. A round
    #: with moves from the node ends as one normal round.
    normal: int = 3
    #: Seconds after which the abnormal state ends.
    timeout_seconds: float = 60.0


class LoadPool(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Nodes whose loads are compared with one another, and their thresholds."""

    #: Label selector of the nodes, as for ``kubectl -l``; empty for all nodes.
    node_selector: str = ""
    #: Percent by resource up to which a node may receive pods.
    low: dict[str, float] = msgspec.field(default_factory=lambda: {"cpu": 45.0, "memory": 60.0})
    #: Percent by resource above which pods are moved away from a node.
    high: dict[str, float] = msgspec.field(default_factory=lambda: {"cpu": 65.0, "memory": 80.0})
    #: True if the thresholds are distances from the mean of the nodes of the pool.
    deviation: bool = False
    #: Weights of the resources in the order of nodes and pods; 1 for a resource without one.
    weights: dict[str, int] = msgspec.field(default_factory=dict)
    #: Conditions under which a hot node is unloaded.
    anomaly: AnomalyRule = AnomalyRule()

    def selector(self) -> Selector:
        """Selector of the nodes."""
        return parse_labels(self.node_selector)


class NamespaceChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Namespaces whose pods may be moved: some, all but some, or all."""

    #: The namespaces; empty for all.
    include: tuple[str, ...] = ()
    #: Namespaces whose pods stay.
    exclude: tuple[str, ...] = ()


class HotNodeRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Pools of nodes, and limits of moves."""

    #: Seconds between two rounds.
    every_seconds: float
    #: Pools of nodes; a node belongs to the first pool that selects it.
    pools: tuple[LoadPool, ...] = (LoadPool(),)
    #: Minimum number of receivers in a pool; with fewer, no pod of the pool is moved.
    min_receivers: int = 1
    #: Maximum number of moves per round.
    moves: int = 10
    #: Seconds after a move in which no other pod of the same owner is moved.
    rest_seconds: float = 1800.0
    #: Seconds after which a measurement is too old to be used.
    expiration_seconds: float = 180.0
    #: Namespaces whose pods may be moved.
    namespaces: NamespaceChoice = NamespaceChoice()
    #: Label selectors, of which a pod that may be moved matches one; empty for all pods.
    pod_selectors: tuple[str, ...] = ()
    #: True if moves are only computed and counted.
    dry_run: bool = True
    #: Speed of the CPUs of a node by a label; ``None`` if all are equally fast.
    cpu_speeds: CpuSpeeds | None = None

    def selectors(self) -> list[Selector]:
        """Selectors of the pods that may be moved; empty for all pods."""
        return [parse_labels(selector) for selector in self.pod_selectors]


_OF_POOLS: Final = LoadPool.__struct_encode_fields__
_OF_ROUNDS: Final = HotNodeRules.__struct_encode_fields__


def read_hot_nodes(value: Any, where: str) -> HotNodeRules | None:
    """Read the section ``rebalance`` of a profile; ``None`` without one.

    Raises:
        InputError: a value has the wrong form; the message contains its path.
    """
    if value is None or value is False:
        return None
    given = dict(read.mapping(value, (*_OF_ROUNDS, *_OF_POOLS), where))
    common = {key: given.pop(key) for key in _OF_POOLS if key in given}
    listed = given.pop("pools", None)
    speeds = read_speeds(given.pop("cpuSpeeds", None), f"{where}.cpuSpeeds")
    rules = read_section(given, HotNodeRules, where)
    pools = [_pool(common, where)]
    if listed is not None:
        pools = _pools(common, listed, f"{where}.pools")
    rules = msgspec.structs.replace(rules, pools=tuple(pools), cpu_speeds=speeds)
    ranges = {
        "everySeconds": (rules.every_seconds, 1.0, LONGEST_S),
        "minReceivers": (rules.min_receivers, 1, MOST),
        "moves": (rules.moves, 1, MOST),
        "restSeconds": (rules.rest_seconds, 0.0, LONGEST_S),
        "expirationSeconds": (rules.expiration_seconds, 1.0, LONGEST_S),
    }
    check_ranges(ranges, where)
    _check_pods(rules, where)
    return rules


def _pools(common: Mapping[str, Any], listed: Any, where: str) -> list[LoadPool]:
    """Read the pools of a list; ``common`` contains the values of settings that a pool lacks."""
    pools = []
    for i, each in enumerate(read.sequence(listed, where)):
        own = read.mapping(each, _OF_POOLS, f"{where}[{i}]")
        pools.append(_pool({**common, **own}, f"{where}[{i}]"))
    if not pools:
        raise InputError(where, [], "at least one pool", "{} selects all nodes")
    return pools


def _pool(given: Mapping[str, Any], where: str) -> LoadPool:
    pool = read_section(given, LoadPool, where)
    parse_labels(pool.node_selector, f"{where}.nodeSelector")
    ranges = {
        "anomaly.abnormal": (pool.anomaly.abnormal, 1, MOST),
        "anomaly.normal": (pool.anomaly.normal, 0, MOST),
        "anomaly.timeoutSeconds": (pool.anomaly.timeout_seconds, 1.0, LONGEST_S),
    }
    tables: dict[str, Mapping[str, float]]
    tables = {"low": pool.low, "high": pool.high, "weights": pool.weights}
    for table, numbers in tables.items():
        for resource, number in numbers.items():
            if resource not in RESOURCES:
                raise InputError(f"{where}.{table}", resource, "cpu or memory")
            least = 1.0 if table == "weights" else 0.0
            ranges[f"{table}.{resource}"] = (number, least, 100.0)
    check_ranges(ranges, where)
    _check_thresholds(pool, where)
    return pool


def _check_thresholds(pool: LoadPool, where: str) -> None:
    """Refuse a resource with one threshold only, and a low threshold above the high one."""
    low, high = pool.low, pool.high
    for one, other, here in ((low, high, "high"), (high, low, "low")):
        for resource in sorted(one.keys() - other.keys()):
            raise InputError(f"{where}.{here}.{resource}", None, "both thresholds of a resource")
    for resource in low:
        if not pool.deviation and low[resource] > high[resource]:
            expected = f"at most high.{resource}, {high[resource]:g}"
            raise InputError(f"{where}.low.{resource}", low[resource], expected)


def _check_pods(rules: HotNodeRules, where: str) -> None:
    """Refuse unreadable selectors of pods, and namespaces that are both chosen and left out."""
    for i, selector in enumerate(rules.pod_selectors):
        parse_labels(selector, f"{where}.podSelectors[{i}]")
    if rules.namespaces.include and rules.namespaces.exclude:
        where = f"{where}.namespaces.exclude"
        raise InputError(where, list(rules.namespaces.exclude), "include or exclude, not both")
