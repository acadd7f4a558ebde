"""Builds an embedded federation from its description."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec

from stretto.api.kinds.federation import FEDERATED_CLUSTER, FEDERATED_TYPE_CONFIG, FEDERATION
from stretto.api.kinds.kubernetes import KUBERNETES
from stretto.api.kinds.ours import OURS
from stretto.api.wire.kinds import POD_GROUP, Kind
from stretto.base.clock import ManualClock
from stretto.base.errors import InputError
from stretto.federation.objects.defaults import (
    DefaultType,
    default_kinds,
    default_types,
    type_config,
)
from stretto.federation.settings import FederationSettings
from stretto.sim.fleet.description import ClusterShape, FleetDescription
from stretto.sim.fleet.fleet import EmbeddedFleet
from stretto.sim.fleet.parts import DEFAULT_PARTS, FleetParts
from stretto.stores.store import Store

START: Final = 1_767_225_600.0
"""Wall time at which every fleet begins: 2026-01-01."""
JOINING: Final = 6.0
"""Seconds in which all clusters join and report their capacity."""
_CPU_MODEL: Final = "stretto.dev/cpu-model"


def built(
    fleet: FleetDescription,
    settings: FederationSettings | None = None,
    parts: FleetParts = DEFAULT_PARTS,
) -> EmbeddedFleet:
    """A fleet with its clusters and the objects of its host; the clusters have joined.

    Raises:
        InputError: an object is refused; the message names it.
    """
    parts = replace(parts, kinds=(*parts.kinds, POD_GROUP))
    made = EmbeddedFleet(ManualClock(START), settings or settings_of(fleet), parts)
    configured = {str(each.get("kind")) for each in fleet.objects}
    if FEDERATED_TYPE_CONFIG.kind.kind not in configured:
        for config in (*default_types(), type_config(DefaultType(POD_GROUP))):
            put(made.host, FEDERATED_TYPE_CONFIG.kind, config)
    for each in fleet.clusters:
        add_cluster(made, each)
    made.run_until(made.clock.monotonic() + JOINING)
    for body in fleet.objects:
        made.federation.fleet.host.poll(made.clock.monotonic())
        carried = (type_.kind for type_ in made.federation.fleet.types)
        put(made.host, kind_of(body, carried), body)
    return made


def add_cluster(fleet: EmbeddedFleet, shape: ClusterShape) -> None:
    """Add a member of equal nodes; it joins within seconds."""
    join(fleet, shape, node_bodies(shape))


def join(fleet: EmbeddedFleet, shape: ClusterShape, nodes: Sequence[bytes]) -> None:
    """Add a member with the name, labels and taints of a shape; it joins within seconds.

    Args:
        fleet: the fleet.
        shape: the cluster.
        nodes: JSON of its nodes.
    """
    fleet.add_member(shape.name, nodes)
    body = {
        "metadata": {"name": shape.name, "labels": shape.labels},
        "spec": {"taints": list(shape.taints)},
    }
    put(fleet.host, FEDERATED_CLUSTER.kind, body)


def settings_of(fleet: FleetDescription) -> FederationSettings:
    """Default settings with health checks as frequent as short runs need."""
    return FederationSettings(
        performance=fleet.matrix(), health_period=5.0, health_threshold=10.0, drift_delay=1.0
    )


def put(store: Store, kind: Kind, body: dict[str, Any]) -> None:
    """Create an object.

    Raises:
        InputError: the store refuses it.
    """
    reply = store.create(kind, [msgspec.json.encode(body)])[0]
    if reply.outcome.value != "ok":
        name = (body.get("metadata") or {}).get("name")
        raise InputError(f"{kind.kind} {name}", None, "a valid object", reply.message)


def kind_of(body: dict[str, Any], carried: Iterable[Kind]) -> Kind:
    """The kind of a manifest.

    Args:
        body: the manifest.
        carried: the kinds that the federation carries.

    Raises:
        InputError: no kind of these, of Kubernetes or of a federation has the name.
    """
    group = str(body.get("apiVersion") or "v1").rpartition("/")[0]
    for entry in (*carried, *_known()):
        if entry.kind == body.get("kind") and entry.group == group:
            return entry
    where = f"{body.get('kind')} {(body.get('metadata') or {}).get('name')}"
    expected = "a kind of Kubernetes, of core.kubeadmiral.io or of a FederatedTypeConfig"
    hint = "create the FederatedTypeConfig of the kind first"
    raise InputError(f"{where}: apiVersion", body.get("apiVersion"), expected, hint)


def _known() -> Iterable[Kind]:
    yield from (entry.kind for entry in (*FEDERATION, *KUBERNETES, *OURS))
    yield from default_kinds()


def node_bodies(shape: ClusterShape) -> Sequence[bytes]:
    """The nodes of a cluster as JSON."""
    resources = {"cpu": str(shape.cpu), "memory": shape.memory, "pods": "110"}
    if shape.gpus:
        resources["nvidia.com/gpu"] = str(shape.gpus)
    labels = {"kubernetes.io/os": "linux"}
    if shape.cpu_model:
        labels[_CPU_MODEL] = shape.cpu_model
    made = []
    for number in range(shape.nodes):
        name = f"{shape.name}-{number}"
        body = {
            "metadata": {"name": name, "labels": {**labels, "kubernetes.io/hostname": name}},
            "status": {
                "allocatable": resources,
                "capacity": resources,
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
        made.append(msgspec.json.encode(body))
    return made
