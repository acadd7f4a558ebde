"""The ``rebalance`` settings of a profile: thresholds of node load, and limits of moves.

    stretto:
      rebalance: {everySeconds: 120, low: {cpu: 45}, high: {cpu: 65}, moves: 10, dryRun: true}

The thresholds are percentages of the real amounts, as in Koordinator's LowNodeLoad. With
``deviation`` they are distances from the mean. A dry run only counts and reports; it is the
default.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from stretto.base.errors import InputError
from stretto.framework.contract.speeds import CpuSpeeds, read_speeds
from stretto.framework.profile.capacity.section import check_ranges, read_section

LONGEST_S = 7 * 86_400.0
"""Longest interval in seconds: a week."""


class HotNodeRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Thresholds of node load, and limits of moves."""

    #: Seconds between two rounds.
    every_seconds: float
    #: Percent by resource up to which a node may receive pods.
    low: dict[str, float] = msgspec.field(default_factory=lambda: {"cpu": 45.0, "memory": 60.0})
    #: Percent by resource above which pods are moved away from a node.
    high: dict[str, float] = msgspec.field(default_factory=lambda: {"cpu": 65.0, "memory": 80.0})
    #: True if the thresholds are distances from the mean of the nodes.
    deviation: bool = False
    #: Number of rounds above the threshold before pods are moved away.
    rounds: int = 5
    #: Maximum number of moves per round.
    moves: int = 10
    #: Seconds after a move in which no other pod of the same owner is moved.
    rest_seconds: float = 1800.0
    #: Seconds after which a measurement is too old to be used.
    expiration_seconds: float = 180.0
    #: True if moves are only computed and counted.
    dry_run: bool = True
    #: Speed of the CPUs of a node by a label; ``None`` if all are equally fast.
    cpu_speeds: CpuSpeeds | None = None


def read_hot_nodes(value: Any, where: str) -> HotNodeRules | None:
    """Read the section ``rebalance`` of a profile; ``None`` without one.

    Raises:
        InputError: a value has the wrong form; the message contains its path.
    """
    if value is None or value is False:
        return None
    known = dict(value) if isinstance(value, Mapping) else value
    given = known.pop("cpuSpeeds", None) if isinstance(known, dict) else None
    speeds = read_speeds(given, f"{where}.cpuSpeeds")
    expected = (
        "everySeconds, and low, high, deviation, rounds, moves, restSeconds, cpuSpeeds, dryRun"
    )
    rules = read_section(known, HotNodeRules, expected, where)
    rules = msgspec.structs.replace(rules, cpu_speeds=speeds)
    ranges = {
        "everySeconds": (rules.every_seconds, 1.0, LONGEST_S),
        "rounds": (rules.rounds, 1, 1000),
        "moves": (rules.moves, 1, 10_000),
        "restSeconds": (rules.rest_seconds, 0.0, LONGEST_S),
        "expirationSeconds": (rules.expiration_seconds, 1.0, LONGEST_S),
    }
    for table, percents in (("low", rules.low), ("high", rules.high)):
        for resource, percent in percents.items():
            if resource not in ("cpu", "memory"):
                raise InputError(f"{where}.{table}", resource, "cpu or memory")
            ranges[f"{table}.{resource}"] = (percent, 0.0, 100.0)
    check_ranges(ranges, where)
    for resource in rules.low.keys() & rules.high.keys():
        if not rules.deviation and rules.low[resource] > rules.high[resource]:
            expected = f"at most high.{resource}, {rules.high[resource]:g}"
            raise InputError(f"{where}.low.{resource}", rules.low[resource], expected)
    return rules
