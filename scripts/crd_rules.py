"""Bounds and CEL rules of the CRDs, which the structs do not contain.

Paths are ``Kind.field.field``; ``[]`` is an item of a list, ``{}`` a value of a map.
"""

from typing import Any, Final

from stretto.control.queues.policies import POLICIES
from stretto.state.queues.siblings import BY_WEIGHT, SIBLING_POLICIES

BUILT_IN_POLICIES = [
    name
    for name in dict.fromkeys((*POLICIES.built_in(), *SIBLING_POLICIES.built_in()))
    if name != BY_WEIGHT
]
"""Names without a slash that the ``policy`` of a Queue may have."""

INT32: Final = 2**31 - 1
NAME: Final = {"maxLength": 253}
KEY: Final = {"maxLength": 316}


def rule(expression: str, message: str, **more: Any) -> dict[str, Any]:
    """One CEL rule."""
    return {"rule": expression, "message": message, **more}


def rules(*each: dict[str, Any]) -> dict[str, Any]:
    """CEL rules at one place."""
    return {"x-kubernetes-validations": list(each)}


AMOUNTS: Final = {
    "maxProperties": 32,
    **rules(
        rule(
            "self.all(name, isQuantity(string(self[name])))",
            "every amount is a quantity such as 500m, 2 or 4Gi",
        ),
        rule(
            "self.all(name, !isQuantity(string(self[name]))"
            " || !quantity(string(self[name])).isLessThan(quantity('0')))",
            "every amount is 0 or more: remove the minus sign",
        ),
    ),
}


def _at_most(low: str, high: str) -> str:
    """A condition that no amount of a member is above that of another member."""
    one, two = (f"string(self.{each}[name])" for each in (low, high))
    return (
        f"!has(self.{low}) || !has(self.{high}) || self.{low}.all(name, !(name in self.{high})"
        f" || !isQuantity({one}) || !isQuantity({two})"
        f" || quantity({one}).compareTo(quantity({two})) <= 0)"
    )


_ONCE: Final = rules(
    rule(
        "self.all(one, self.exists_one(other, other.topologyKey == one.topologyKey))",
        "each topologyKey only once: remove one of the two",
    )
)
_TERMS: Final = {"maxItems": 16, **_ONCE}


def _affinity(path: str) -> dict[str, dict[str, Any]]:
    """Rules for the affinity of a PodGroup."""
    terms = ("required", "preferred")
    return {
        **{f"{path}.{each}": _TERMS for each in terms},
        **{f"{path}.{each}[].topologyKey": {"minLength": 1, **KEY} for each in terms},
        f"{path}.sortRules": {"maxItems": 16},
        f"{path}.sortRules[].resource": {"enum": ["GPU", "CPU", "Memory"]},
        f"{path}.sortRules[].dimension": {"enum": ["Capacity", "Available"]},
        f"{path}.sortRules[].order": {"enum": ["Ascending", "Descending"]},
        f"{path}.nodeSelector.nodeSelectorTerms": {"maxItems": 64},
        f"{path}.nodeSelector": rules(
            rule(
                "!has(self.nodeSelectorTerms) || self.nodeSelectorTerms.all(term,"
                " !has(term.matchFields) || size(term.matchFields) == 0)",
                "labels only, because a group spans many nodes: use matchExpressions",
            )
        ),
    }


_COUNT: Final = {"minimum": 0, "maximum": INT32}
_EFFECT: Final = {"enum": ["NoSchedule", "PreferNoSchedule", "NoExecute"]}

_SHARE: Final = rules(
    rule(
        "type(self) == int ? self >= 0 : self.matches('^(100|[0-9]{1,2})%$')",
        "a number of nodes, or 0% to 100%",
    )
)


def _tide_labels(path: str) -> dict[str, dict[str, Any]]:
    """Rules for the labels of a TideNodePool."""
    labels = [f"{path}.{each}Label" for each in ("online", "offline", "tide")]
    keys: dict[str, dict[str, Any]] = {f"{each}.key": {"minLength": 1, **KEY} for each in labels}
    return keys | {f"{each}.value": {"maxLength": 63} for each in labels}


def _tide_taints(path: str) -> dict[str, dict[str, Any]]:
    """Rules for the taints of a TideNodePool."""
    taints = [f"{path}.evict{each}PodTaint" for each in ("Online", "Offline")]
    keys: dict[str, dict[str, Any]] = {f"{each}.key": {"minLength": 1, **KEY} for each in taints}
    effect = {"enum": ["", *_EFFECT["enum"]]}
    return keys | {f"{each}.effect": effect for each in taints}


_CONTAINERS: Final = "VerticalPodAutoscaler.spec.resourcePolicy.containerPolicies"

RULES: Final[dict[str, dict[str, Any]]] = {
    # ------------------------------------------------------------ Queue
    "Queue": rules(
        rule(
            "!has(self.spec) || !has(self.spec.parent) || self.spec.parent != self.metadata.name",
            "a queue cannot be its own parent: name another queue, or none for a root",
            fieldPath=".spec.parent",
        )
    ),
    "Queue.spec": rules(
        rule(
            _at_most("guarantee", "limit"),
            "at most the limit of each resource: raise the limit or lower the guarantee",
            fieldPath=".guarantee",
        )
    ),
    "Queue.spec.parent": NAME,
    "Queue.spec.policy": {
        "default": "FIFO",
        "maxLength": 316,
        # A package's policy has a qualified name, so a typo in a built-in name is still refused.
        "pattern": f"^({'|'.join(BUILT_IN_POLICIES)}|[a-z0-9.-]+/[A-Za-z0-9._-]+)$",
    },
    "Queue.spec.resource": {"default": "cpu", "minLength": 1, **KEY},
    "Queue.spec.weight": {
        "default": 1,
        "maximum": INT32,
        **rules(
            rule("self >= 1", "a queue without weight starves: set 1 or more, or delete the queue")
        ),
    },
    "Queue.spec.resourceWeights": {"maxProperties": 32},
    "Queue.spec.resourceWeights{}": {"minimum": 1, "maximum": INT32},
    "Queue.spec.guarantee": AMOUNTS,
    "Queue.spec.limit": AMOUNTS,
    "Queue.spec.maxRunningUnits": {
        "maximum": INT32,
        **rules(rule("self >= 0", "omit it for no limit; 0 closes the queue")),
    },
    "Queue.status.conditions": {
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
    },
    # ------------------------------------------------------------ ScalingPolicy
    "ScalingPolicy.spec.groups": {
        "minItems": 1,
        "maxItems": 64,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    },
    "ScalingPolicy.spec.groups[]": rules(
        rule("!has(self.min) || self.min <= self.max", "max is at least min", fieldPath=".max")
    ),
    "ScalingPolicy.spec.groups[].name": {"minLength": 1, "maxLength": 63},
    "ScalingPolicy.spec.groups[].min": _COUNT,
    "ScalingPolicy.spec.groups[].max": _COUNT,
    "ScalingPolicy.spec.groups[].step": {"default": 1, "minimum": 1, "maximum": INT32},
    "ScalingPolicy.spec.groups[].targetRef.kind": {
        "enum": ["Deployment", "StatefulSet", "ReplicaSet"]
    },
    "ScalingPolicy.spec.groups[].targetRef.apiVersion": {"default": "apps/v1", "enum": ["apps/v1"]},
    "ScalingPolicy.spec.groups[].targetRef.name": {"minLength": 1, **NAME},
    "ScalingPolicy.spec.groups[].bounds": {"maxItems": 16},
    "ScalingPolicy.spec.groups[].bounds[]": rules(
        rule("self.min <= self.max", "max is at least min", fieldPath=".max")
    ),
    "ScalingPolicy.spec.groups[].bounds[].start": {"maxLength": 128},
    "ScalingPolicy.spec.groups[].bounds[].durationSeconds": {"minimum": 1, "maximum": INT32},
    "ScalingPolicy.spec.groups[].bounds[].min": _COUNT,
    "ScalingPolicy.spec.groups[].bounds[].max": _COUNT,
    "ScalingPolicy.spec.replicas": {"default": 0, **_COUNT},
    "ScalingPolicy.spec.quota": _COUNT,
    "ScalingPolicy.spec.selector": {"maxLength": 4096},
    "ScalingPolicy.spec.scaleStrategy": {"default": "Auto"},
    "ScalingPolicy.spec.forecast.predictor": {"default": "seasonal", "minLength": 1, **KEY},
    "ScalingPolicy.spec.forecast.strategy": {"default": "Preview"},
    "ScalingPolicy.spec.forecast.sampleSeconds": {
        "default": 300,
        "minimum": 10,
        "maximum": 86_400,
    },
    "ScalingPolicy.spec.forecast.seasonSeconds": {"default": 86_400, "minimum": 10},
    "ScalingPolicy.spec.forecast.aheadSeconds": {"default": 900, "minimum": 10},
    "ScalingPolicy.spec.forecast": rules(
        *(
            rule(
                f"self.{each}Seconds % self.sampleSeconds == 0"
                f" && self.{each}Seconds >= self.sampleSeconds"
                f" && self.{each}Seconds <= 576 * self.sampleSeconds",
                "a multiple of sampleSeconds, at most 576 times",
                fieldPath=f".{each}Seconds",
            )
            for each in ("season", "ahead")
        )
    ),
    # ------------------------------------------------------------ VerticalPodAutoscaler
    "VerticalPodAutoscaler.spec.targetRef.kind": {"minLength": 1, "maxLength": 63},
    "VerticalPodAutoscaler.spec.targetRef.name": {"minLength": 1, **NAME},
    "VerticalPodAutoscaler.spec.recommenders": {"maxItems": 1},
    _CONTAINERS: {
        "maxItems": 32,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["containerName"],
    },
    f"{_CONTAINERS}[]": rules(
        rule(
            _at_most("minAllowed", "maxAllowed"),
            "minAllowed is at most maxAllowed of each resource",
        )
    ),
    f"{_CONTAINERS}[].containerName": {"default": "*", "minLength": 1, "maxLength": 63},
    f"{_CONTAINERS}[].minAllowed": {**AMOUNTS, "maxProperties": 8},
    f"{_CONTAINERS}[].maxAllowed": {**AMOUNTS, "maxProperties": 8},
    f"{_CONTAINERS}[].controlledResources": {
        "maxItems": 8,
        **rules(rule("self.all(each, each in ['cpu', 'memory'])", "cpu and memory only")),
    },
    "VerticalPodAutoscaler.status.conditions": {
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
    },
    # ------------------------------------------------------------ TideNodePool
    **{f"TideNodePool.spec.nodeConfigs.reserve.{each}": _SHARE for each in ("online", "offline")},
    **_tide_labels("TideNodePool.spec.nodeConfigs"),
    **_tide_taints("TideNodePool.spec.evictStrategy.watermark"),
    "TideNodePool.spec.evictStrategy.type": {"enum": ["", "watermark"]},
    # ------------------------------------------------------------ PodGroup
    "PodGroup.spec.minMember": {
        "format": "int32",
        "maximum": INT32,
        **rules(rule("self >= 1", "a gang has at least one pod; 1 schedules each pod on its own")),
    },
    "PodGroup.spec.scheduleTimeoutSeconds": {
        "format": "int32",
        "default": 300,
        "maximum": INT32,
        **rules(rule("self >= 1", "1 second or more; omit it for 300")),
    },
    "PodGroup.spec.priorityClassName": NAME,
    **_affinity("PodGroup.spec.affinity.podGroupAffinity"),
    **_affinity("PodGroup.spec.affinity.podGroupAntiAffinity"),
    # ------------------------------------------------------------ others
    "Reservation.spec.ttl": rules(rule("self >= 0", "seconds, 0 or more")),
    "NMNode.spec.taints[].effect": _EFFECT,
    "NMNode.spec.taints[].key": {"minLength": 1, **KEY},
    "CustomNodeResource.spec.taints[].effect": _EFFECT,
    "CustomNodeResource.spec.taints[].key": {"minLength": 1, **KEY},
    "CustomNodeResource.status.topologyZone[].type": {"minLength": 1},
}

EXTRA: Final[dict[str, dict[str, Any]]] = {
    "Scheduler": {"spec": {"description": "Empty; shards of Gödel write it.", "type": "object"}},
}
"""Fields on the wire without a reader."""
