"""Builds an embedded federation from its description."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import msgspec

from stretto.api.kinds.federation import FEDERATED_CLUSTER, FEDERATED_TYPE_CONFIG
from stretto.api.wire.kinds import POD_GROUP
from stretto.base.clock import BEGIN, ManualClock
from stretto.federation.objects.defaults import (
    DefaultType,
    default_types,
    type_config,
)
from stretto.federation.settings import FederationSettings
from stretto.sim.fleet.description import ClusterShape, FleetDescription
from stretto.sim.fleet.fleet import EmbeddedFleet
from stretto.sim.fleet.manifests import kind_of, put
from stretto.sim.fleet.parts import DEFAULT_PARTS, FleetParts

JOINING: Final = 6.0
"""Seconds within which all clusters join and report their capacity."""
_CPU_MODEL: Final = "stretto.dev/cpu-model"


def built(
    fleet: FleetDescription,
    settings: FederationSettings | None = None,
    parts: FleetParts = DEFAULT_PARTS,
) -> EmbeddedFleet:
    """A fleet with its clusters and the objects of its host; the clusters have joined.

    Raises:
        InputError: an object is refused; the message contains its name.
    """
    parts = replace(parts, kinds=(*parts.kinds, POD_GROUP))
    made = EmbeddedFleet(ManualClock(float(BEGIN)), settings or settings_of(fleet), parts)
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
    """Default settings, with health checks that are frequent enough for short runs."""
    return FederationSettings(
        performance=fleet.matrix(), health_period=5.0, health_threshold=10.0, drift_delay=1.0
    )


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
