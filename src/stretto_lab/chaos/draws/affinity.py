"""Affinity between pods of a group, with a reference for it.

All pods of one group (a label) share one rule, so the reference needs no selectors: it counts the
pods of the group by node and by zone. It shares no code with the plane.
"""

from collections import Counter
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

LABEL: Final = "group"
HOST: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
SKEW: Final = 1
"""Maximum skew of groups with a hard spread."""
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


class GroupAffinity(Enum):
    """The rule between the pods of a group."""

    #: No rule.
    FREE = "free"
    #: Required anti-affinity by node.
    APART = "apart"
    #: Hard spread over zones.
    SPREAD = "spread"
    #: Required affinity by zone.
    NEAR = "near"
    #: Preferred anti-affinity by node.
    SHY = "shy"
    #: Soft spread over nodes.
    EVEN = "even"


def spec_of(group: str, rule: GroupAffinity) -> dict[str, Any]:
    """The fields of a pod spec that express the rule."""
    selector = {"matchLabels": {LABEL: group}}
    near = {"topologyKey": ZONE, "labelSelector": selector}
    here = {"topologyKey": HOST, "labelSelector": selector}
    spread = {"maxSkew": SKEW, "labelSelector": selector}
    hard = {**spread, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    soft = {**spread, "topologyKey": HOST, "whenUnsatisfiable": "ScheduleAnyway"}
    preferred = {"weight": 10, "podAffinityTerm": here}
    fields: dict[GroupAffinity, dict[str, Any]] = {
        GroupAffinity.FREE: {},
        GroupAffinity.APART: {"affinity": {"podAntiAffinity": {_REQUIRED: [here]}}},
        GroupAffinity.SPREAD: {"topologySpreadConstraints": [hard]},
        GroupAffinity.NEAR: {"affinity": {"podAffinity": {_REQUIRED: [near]}}},
        GroupAffinity.SHY: {"affinity": {"podAntiAffinity": {_PREFERRED: [preferred]}}},
        GroupAffinity.EVEN: {"topologySpreadConstraints": [soft]},
    }
    return fields[rule]


def allows_together(
    rule: GroupAffinity, node: str, counts: Mapping[str, int], zones: Mapping[str, str]
) -> bool:
    """True if the rule admits one more pod of the group on a node.

    Args:
        rule: the rule of the group.
        node: the node.
        counts: pods of the group by node.
        zones: zone by node, of the nodes that the pod's own selector allows.
    """
    if rule is GroupAffinity.APART:
        return not counts.get(node)
    by_zone = Counter(dict.fromkeys(zones.values(), 0))
    for name, zone in zones.items():
        by_zone[zone] += counts.get(name, 0)
    if rule is GroupAffinity.SPREAD:
        return by_zone[zones[node]] + 1 - min(by_zone.values()) <= SKEW
    if rule is GroupAffinity.NEAR:
        return by_zone[zones[node]] > 0 or not sum(counts.values())
    return True
