"""FederatedTypeConfigs of built-in kinds: defaults for a host without any, and further ones.

Together they are the kinds that KubeAdmiral configures, without EndpointSlices, which need none. By
default a host federates workloads and their dependencies. The further kinds let the controllers
read secrets or write roles. An operator adds them together with the required rights.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from stretto.api.wire import kinds
from stretto.api.wire.kinds import Kind
from stretto.federation import names
from stretto.federation.objects.aggregation.builtin import has_rule
from stretto.federation.objects.membership.kinds import SECRET
from stretto.reconcile.cache import Fields

_SCHEDULED: Final = ((names.SCHEDULER,), (names.OVERRIDES,))
_EVERYWHERE: Final = ((names.NAMESPACES,), (names.OVERRIDES,))
_REPLICAS: Final = {
    "labelSelector": "spec.selector",
    "replicasSpec": "spec.replicas",
    "replicasStatus": "status.replicas",
    "availableReplicasStatus": "status.availableReplicas",
    "readyReplicasStatus": "status.readyReplicas",
}
_RBAC: Final = "rbac.authorization.k8s.io"
_MCS: Final = "multicluster.x-k8s.io"


@dataclass(frozen=True)
class DefaultType:
    """Default configuration of one kind."""

    #: The kind.
    kind: Kind
    #: Paths of its replicas.
    paths: dict[str, str] = field(default_factory=dict)
    #: Groups of controllers that process an object before it is written to members.
    pipeline: tuple[tuple[str, ...], ...] = _SCHEDULED
    #: Annotations of the configuration.
    annotations: dict[str, str] = field(default_factory=dict)


_DEFAULT: Final = (
    DefaultType(kinds.DEPLOYMENT, _REPLICAS),
    DefaultType(kinds.STATEFUL_SET, _REPLICAS),
    DefaultType(kinds.DAEMON_SET),
    DefaultType(kinds.JOB),
    DefaultType(Kind("batch", "v1", "CronJob", "cronjobs")),
    DefaultType(kinds.CONFIG_MAP),
    DefaultType(kinds.PERSISTENT_VOLUME_CLAIM),
    DefaultType(kinds.SERVICE_ACCOUNT),
    DefaultType(kinds.SERVICE),
    DefaultType(Kind("networking.k8s.io", "v1", "Ingress", "ingresses")),
    DefaultType(
        kinds.HORIZONTAL_POD_AUTOSCALER,
        pipeline=((names.AUTOSCALERS,), *_SCHEDULED),
        annotations={names.SCALE_TARGET_PATH: "spec.scaleTargetRef"},
    ),
    DefaultType(kinds.NAMESPACE, pipeline=_EVERYWHERE),
    DefaultType(kinds.LIMIT_RANGE),
    DefaultType(kinds.RESOURCE_QUOTA),
)
_FURTHER: Final = (
    DefaultType(kinds.POD),
    DefaultType(SECRET),
    DefaultType(kinds.PERSISTENT_VOLUME),
    DefaultType(kinds.STORAGE_CLASS),
    DefaultType(Kind(_RBAC, "v1", "Role", "roles")),
    DefaultType(Kind(_RBAC, "v1", "RoleBinding", "rolebindings")),
    DefaultType(Kind(_RBAC, "v1", "ClusterRole", "clusterroles", namespaced=False)),
    DefaultType(Kind(_RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False)),
    DefaultType(kinds.CUSTOM_RESOURCE_DEFINITION),
    DefaultType(Kind(_MCS, "v1alpha1", "ServiceExport", "serviceexports")),
    DefaultType(Kind(_MCS, "v1alpha1", "ServiceImport", "serviceimports")),
)


def default_types() -> Iterator[Fields]:
    """The default configurations, as objects, for a host that has none."""
    return map(type_config, _DEFAULT)


def default_kinds() -> Iterator[Kind]:
    """The kinds of all configurations of this module."""
    return (each.kind for each in (*_DEFAULT, *_FURTHER))


def further_types() -> Iterator[Fields]:
    """The objects of ``deploy/federation/further-kinds.yaml``, which an operator may add."""
    return map(type_config, _FURTHER)


def type_config(default: DefaultType) -> Fields:
    """The configuration of one kind; its name is that of KubeAdmiral."""
    kind = default.kind
    name = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
    spec: dict[str, Any] = {
        "sourceType": {
            "group": kind.group,
            "version": kind.version,
            "kind": kind.kind,
            "pluralName": kind.plural,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
        },
        "controllers": [list(group) for group in default.pipeline],
        "statusAggregation": {"enabled": has_rule(kind.kind)},
        "autoMigration": {"enabled": kind == kinds.DEPLOYMENT},
        "pathDefinition": default.paths,
    }
    annotations = {"annotations": default.annotations} if default.annotations else {}
    return {"metadata": {"name": name, **annotations}, "spec": spec}
