"""State before a scenario began: objects of the host, joined clusters, members.

Everything is created from the recording; nothing depends on the scenario.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import msgspec

from stretto.api.kinds.federation import FEDERATED_CLUSTER, FEDERATED_TYPE_CONFIG
from stretto.api.wire.kinds import CUSTOM_RESOURCE_DEFINITION, NAMESPACE, POD, Kind
from stretto.federation import names
from stretto.federation.objects.membership.kinds import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, SECRET
from stretto.federation.settings import KUBEADMIRAL, FederationSettings
from stretto.sim.fleet.fleet import EmbeddedFleet
from stretto.sim.fleet.server.kinds import BUILTIN
from stretto.stores.store import Patch, Store
from stretto_lab.conformance.wire.placeholders import secret_value
from stretto_lab.conformance.wire.scenario import RecordedCluster
from stretto_lab.conformance.wire.shared import (
    api_resource,
    busy_pods,
    equal_nodes,
    node_body,
    type_config,
)

Fields = dict[str, Any]

_SLICE: Final = Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
UNMARKED: Final = (
    *((NAMESPACE, "", name) for name in ("default", "kube-node-lease", "kube-public")),
    (NAMESPACE, "", "kube-system"),
    (NAMESPACE, "", names.SYSTEM_NAMESPACE),
    (CLUSTER_ROLE, "", "view"),
    (CLUSTER_ROLE, "", "system:node"),
    (CLUSTER_ROLE_BINDING, "", "system:node"),
    (_SLICE, "default", "kubernetes"),
)
"""Objects of a new host that were not marked to stay there."""
_KEYS: Final = ("certificate-authority-data", "client-certificate-data", "client-key-data")
_SECONDS: Final = re.compile(r"(\d+)s")


def settings_of(common: Fields) -> FederationSettings:
    """The behaviour of KubeAdmiral with the durations of a recording."""
    options = common.get("controllerManagerOptions") or {}
    fields = {
        "join_timeout": "cluster-join-timeout",
        "health_period": "cluster-health-check-period",
        "health_threshold": "cluster-status-threshold",
    }
    found: dict[str, Any] = {
        name: float(match[1])
        for name, option in fields.items()
        if (match := _SECONDS.fullmatch(str(options.get(option, ""))))
    }
    return replace(KUBEADMIRAL, **found)


def set_up(fleet: EmbeddedFleet, common: Fields, clusters: tuple[RecordedCluster, ...]) -> None:
    """Create the state before the scenario.

    Args:
        fleet: an empty host.
        common: common data of all scenarios: kinds, nodes and configurations.
        clusters: the joined clusters.
    """
    for kind, namespace, name in UNMARKED:
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        _create(fleet.host, kind, {"metadata": metadata})
    for config in common["typeConfigs"]:
        _create(fleet.host, FEDERATED_TYPE_CONFIG.kind, type_config(config))
    joined = {each.name: each for each in clusters}
    for name in sorted({*common["clusters"], *joined}):
        _add_member(fleet, common, name, joined.get(name))


def _add_member(
    fleet: EmbeddedFleet, common: Fields, name: str, cluster: RecordedCluster | None
) -> None:
    """Create a member with its nodes and kinds; a joined one also with its FederatedCluster."""
    named = common["nodes"].get(name) or (equal_nodes(cluster.resources) if cluster else [])
    member = fleet.add_member(name, [node_body(each) for each in named])
    for body in definitions(common):
        _create(member.store, CUSTOM_RESOURCE_DEFINITION, body)
    if cluster is None:
        return
    uid = _join(fleet.host, common, cluster)
    notes = {names.CLUSTER_UID: uid}
    metadata = {"name": names.SYSTEM_NAMESPACE, "annotations": notes}
    _create(member.store, NAMESPACE, {"metadata": metadata})
    for body in busy_pods(cluster.resources):
        _create(member.store, POD, body)


def _join(host: Store, common: Fields, cluster: RecordedCluster) -> str:
    """Create the FederatedCluster of a joined cluster; return its uid."""
    kind, space = FEDERATED_CLUSTER.kind, names.SYSTEM_NAMESPACE
    secret = f"{cluster.name}-secret"
    data = {key: secret_value(key) for key in _KEYS}
    _create(host, SECRET, {"metadata": {"name": secret, "namespace": space}, "data": data})
    finalizers = [names.CASCADE, names.CLUSTER_FINALIZER]
    spec = {
        "apiEndpoint": f"https://{cluster.name}",
        "secretRef": {"name": secret},
        "taints": cluster.taints,
        "useServiceAccount": cluster.use_service_account,
    }
    metadata = {"name": cluster.name, "labels": cluster.labels, "finalizers": finalizers}
    _create(host, kind, {"metadata": metadata, "spec": spec})
    now = "1970-01-01T00:00:00Z"
    status = {
        "conditions": [
            {"type": name, "status": value, "lastTransitionTime": now, "lastProbeTime": now}
            for name, value in cluster.conditions.items()
        ],
        "resources": cluster.resources,
        "apiResourceTypes": [api_resource(each) for each in common["memberKinds"]],
    }
    host.patch_status(kind, [Patch("", cluster.name, {"status": status})])
    record = host.get(kind, "", cluster.name)
    assert record is not None
    return record.uid


def definitions(common: Fields) -> Iterator[Fields]:
    """CRDs of the kinds that members serve besides those of Kubernetes."""
    builtin = {(each.group, each.kind) for each in BUILTIN}
    plurals = {each["kind"]: each["plural"] for each in common["typeConfigs"]}
    for text in common["memberKinds"]:
        found = api_resource(text)
        group, kind = found["group"], found["kind"]
        if (group, kind) in builtin:
            continue
        plural = plurals.get(kind, f"{kind.lower()}s")
        version = {"name": found["version"], "served": True, "storage": True}
        spec = {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [version],
        }
        yield {"metadata": {"name": f"{plural}.{group}"}, "spec": spec}


def _create(store: Store, kind: Kind, body: Fields) -> None:
    store.create(kind, [msgspec.json.encode(body)])
