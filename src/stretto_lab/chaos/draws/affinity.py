"""Pods that speak of their own kind: what they say, and whether a node would do, in plain words.

All pods of one kind (a label) have the same rule, so that a reference needs no selectors: it counts
pods of the kind by node and by zone. It shares nothing with the plane but the rules' meaning.
"""

from collections import Counter
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

LABEL: Final = "kin"
HOST: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
SKEW: Final = 1
"""By how many pods zones may differ for kinds that spread."""
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


class KindAffinity(Enum):
    """What pods of a kind say of one another."""

    #: Nothing.
    FREE = "free"
    #: Never two on a node.
    APART = "apart"
    #: Evenly over the zones.
    SPREAD = "spread"
    #: All in one zone.
    NEAR = "near"
    #: Rather not two on a node.
    SHY = "shy"
    #: Rather evenly over the nodes.
    EVEN = "even"


def spec_of(kind: str, rule: KindAffinity) -> dict[str, Any]:
    """The part of a spec that says it."""
    selector = {"matchLabels": {LABEL: kind}}
    near = {"topologyKey": ZONE, "labelSelector": selector}
    here = {"topologyKey": HOST, "labelSelector": selector}
    spread = {"maxSkew": SKEW, "labelSelector": selector}
    hard = {**spread, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    soft = {**spread, "topologyKey": HOST, "whenUnsatisfiable": "ScheduleAnyway"}
    wish = {"weight": 10, "podAffinityTerm": here}
    said: dict[KindAffinity, dict[str, Any]] = {
        KindAffinity.FREE: {},
        KindAffinity.APART: {"affinity": {"podAntiAffinity": {_REQUIRED: [here]}}},
        KindAffinity.SPREAD: {"topologySpreadConstraints": [hard]},
        KindAffinity.NEAR: {"affinity": {"podAffinity": {_REQUIRED: [near]}}},
        KindAffinity.SHY: {"affinity": {"podAntiAffinity": {_PREFERRED: [wish]}}},
        KindAffinity.EVEN: {"topologySpreadConstraints": [soft]},
    }
    return said[rule]


def allows_together(
    rule: KindAffinity, node: str, kin: Mapping[str, int], zones: Mapping[str, str]
) -> bool:
    """Whether pods of the kind let one more onto a node.

    Args:
        rule: what the kind says.
        node: the node.
        kin: pods of the kind by node.
        zones: zone by node, of the nodes that the pod's own selector allows.
    """
    if rule is KindAffinity.APART:
        return not kin.get(node)
    counts = Counter(dict.fromkeys(zones.values(), 0))
    for name, zone in zones.items():
        counts[zone] += kin.get(name, 0)
    if rule is KindAffinity.SPREAD:
        return counts[zones[node]] + 1 - min(counts.values()) <= SKEW
    if rule is KindAffinity.NEAR:
        return counts[zones[node]] > 0 or not sum(kin.values())
    return True
