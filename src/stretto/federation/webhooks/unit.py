"""Input of a webhook about a workload: KubeAdmiral's ``schedulingUnit``."""

from typing import Any, NamedTuple

import msgspec

from stretto.api.wire.quantity import format_amount
from stretto.federation.objects.rules.steering import Steering
from stretto.federation.scheduling.workload import FederatedWorkload
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import Fields, StoredObject


class WebhookSubject(NamedTuple):
    """Workload and clusters of one decision's calls."""

    #: The workload, as JSON.
    unit: Fields
    #: The clusters by name, as JSON.
    clusters: dict[str, Fields]


def scheduling_unit(
    federated: StoredObject, type_: FederatedType, rules: Steering, workload: FederatedWorkload
) -> Fields:
    """The workload and its rules; fields without a value are omitted."""
    template = federated.spec["template"]
    metadata = template["metadata"]
    divided = {name: count for name, count in workload.current.items() if count is not None}
    unit: Fields = {
        "apiVersion": template.get("apiVersion"),
        "kind": template.get("kind"),
        "resource": type_.kind.plural,
        "namespace": federated.record.namespace or None,
        "name": metadata["name"],
        "labels": metadata.get("labels") or None,
        "annotations": metadata.get("annotations") or None,
        "schedulingMode": str(workload.mode),
        "desiredReplicas": workload.replicas if type_.paths.replicas_spec else None,
        "resourceRequest": {
            name: format_amount(name, count) for name, count in sorted(workload.request.items())
        },
        "currentClusters": sorted(workload.current),
        "currentReplicaDistribution": dict(sorted(divided.items())) or None,
        "clusterSelector": dict(rules.cluster_selector) or None,
        "clusterAffinity": _builtins(rules.required),
        "tolerations": _builtins(rules.tolerations),
        "maxClusters": rules.max_clusters,
        "placements": _builtins(rules.placements),
    }
    return {key: value for key, value in unit.items() if value is not None}


def _builtins(values: Any) -> Any:
    """Structs as JSON; ``None`` for an empty value."""
    return msgspec.to_builtins(values) if values else None
