"""FederatedTypeConfigs of the built-in kinds, for hosts without their own."""

from collections.abc import Iterator
from typing import Any, Final

from stretto.api.wire import kinds
from stretto.api.wire.kinds import Kind
from stretto.federation import names
from stretto.reconcile.cache import Fields

_SCHEDULED: Final = [[names.SCHEDULER], [names.OVERRIDES]]
_EVERYWHERE: Final = [[names.NAMESPACES], [names.OVERRIDES]]
_REPLICAS: Final = {
    "labelSelector": "spec.selector",
    "replicasSpec": "spec.replicas",
    "replicasStatus": "status.replicas",
    "availableReplicasStatus": "status.availableReplicas",
    "readyReplicasStatus": "status.readyReplicas",
}
_KINDS: Final[tuple[tuple[Kind, dict[str, str]], ...]] = (
    (kinds.DEPLOYMENT, _REPLICAS),
    (kinds.STATEFUL_SET, _REPLICAS),
    (kinds.DAEMON_SET, {}),
    (kinds.JOB, {}),
    (kinds.CONFIG_MAP, {}),
    (kinds.PERSISTENT_VOLUME_CLAIM, {}),
    (kinds.NAMESPACE, {}),
)
"""Kinds with the paths of their replicas."""


def default_types() -> Iterator[Fields]:
    """The configurations, as objects."""
    for kind, paths in _KINDS:
        yield type_config(kind, paths)


def type_config(kind: Kind, paths: dict[str, str]) -> Fields:
    """The configuration of one kind, named like KubeAdmiral's."""
    name = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
    spec: dict[str, Any] = {
        "sourceType": {
            "group": kind.group,
            "version": kind.version,
            "kind": kind.kind,
            "pluralName": kind.plural,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
        },
        "controllers": _EVERYWHERE if kind == kinds.NAMESPACE else _SCHEDULED,
        "statusAggregation": {"enabled": bool(paths)},
        "autoMigration": {"enabled": kind == kinds.DEPLOYMENT},
        "pathDefinition": paths,
    }
    return {"metadata": {"name": name}, "spec": spec}
