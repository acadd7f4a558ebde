"""Bounds, defaults and CEL rules of the CRDs of a federation's host.

They refuse what no scheduler can follow, and nothing that KubeAdmiral accepts and acts on.
"""

from typing import Any, Final

_POLICIES: Final = ("PropagationPolicy", "ClusterPropagationPolicy")
_OVERRIDES: Final = ("OverridePolicy", "ClusterOverridePolicy")
_BY_CLUSTER: Final = {
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["cluster"],
}
_BY_TYPE: Final = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}


def _rule(expression: str, message: str) -> dict[str, Any]:
    return {"x-kubernetes-validations": [{"rule": expression, "message": message}]}


_NAME: Final = _rule(
    "self.metadata.name.size() <= 63",
    "objects name a policy by a label: shorten its name to 63 characters",
)
_BOUNDS: Final = _rule(
    "!has(self.maxReplicas) || !has(self.minReplicas) || self.minReplicas <= self.maxReplicas",
    "minReplicas exceeds maxReplicas: lower it, or raise maxReplicas",
)
_COUNT: Final = {"minimum": 0, "maximum": 2**31 - 1}
_POINTER: Final = {
    "maxLength": 1024,
    **_rule(
        "!(self in ['/metadata/name', '/metadata/namespace', '/metadata/generateName', '/kind'])",
        "the path identifies the object and cannot change: choose another field",
    ),
}


def _of_policy(kind: str) -> dict[str, dict[str, Any]]:
    spec = f"{kind}.spec"
    preferences = f"{spec}.placement[].preferences"
    return {
        kind: _NAME,
        f"{spec}.replicasStrategy": {"default": "Spread"},
        f"{spec}.placement": {"maxItems": 2000, **_BY_CLUSTER},
        f"{spec}.placement[].cluster": {"minLength": 1, "maxLength": 253},
        preferences: _BOUNDS,
        f"{preferences}.minReplicas": _COUNT,
        f"{preferences}.maxReplicas": _COUNT,
        f"{preferences}.weight": _COUNT,
        f"{spec}.autoMigration.when.podUnschedulableFor": {
            "pattern": r"^([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$"
        },
    }


def _of_override(kind: str) -> dict[str, dict[str, Any]]:
    rules = f"{kind}.spec.overrideRules"
    patches = f"{rules}[].overriders.jsonpatch"
    # An API server refuses a rule for elements of lists whose product of lengths is not bounded.
    return {
        rules: {"maxItems": 500},
        patches: {"maxItems": 500},
        f"{patches}[].path": _POINTER,
    }


RULES: Final[dict[str, dict[str, Any]]] = {
    **{path: each for kind in _POLICIES for path, each in _of_policy(kind).items()},
    **dict.fromkeys(_OVERRIDES, _NAME),
    **{path: each for kind in _OVERRIDES for path, each in _of_override(kind).items()},
    "FederatedCluster.status.conditions": _BY_TYPE,
    "FederatedObject.status.conditions": _BY_TYPE,
    "ClusterFederatedObject.status.conditions": _BY_TYPE,
    "SchedulerPluginWebhookConfiguration.spec.payloadVersions": {"minItems": 1},
    "FederatedTypeConfig.spec.sourceType.kind": {"minLength": 1},
    "FederatedTypeConfig.spec.sourceType.version": {"minLength": 1},
    "FederatedTypeConfig.spec.sourceType.scope": {"enum": ["Namespaced", "Cluster"]},
}
"""By path, as in ``crd_rules``."""
