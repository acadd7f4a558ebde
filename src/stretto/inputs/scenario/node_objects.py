"""The nodes of a scenario as objects, and those of manifests in the neutral form."""

from collections.abc import Sequence

import msgspec

from stretto.api.codec import decode_as
from stretto.api.types.core import Node
from stretto.api.wire.kinds import NODE, Kind
from stretto.api.wire.labels import ZONE_LABEL
from stretto.api.wire.quantity import amount
from stretto.base.errors import InputError
from stretto.inputs.neutral.fleet import FleetNode
from stretto.inputs.objects.manifests import ManifestOptions, load_objects
from stretto.inputs.objects.objects import GPU, GPU_MODEL_LABEL
from stretto.inputs.scenario.schema import Scenario


class FleetObjects(msgspec.Struct, frozen=True):
    """The nodes of a scenario."""

    #: In the neutral form.
    nodes: tuple[FleetNode, ...]
    #: As Kubernetes objects, for rules that read labels and taints.
    typed: Sequence[Node]
    #: All objects that exist before the start, including the nodes.
    objects: Sequence[tuple[Kind, bytes]]


def nodes_of_manifests(scenario: Scenario, paths: Sequence[str]) -> FleetObjects:
    """The nodes among some manifests."""
    options = ManifestOptions(scenario.namespace, keep_missing_owners=True)
    found = load_objects([scenario.path(path) for path in paths], options)
    typed = [decode_as(Node, each.body) for each in found if each.kind is NODE]
    if not typed:
        given = ", ".join(paths)
        raise InputError("manifests", given, "files with at least one Node", "add some nodes")
    nodes = tuple(_neutral(node) for node in typed)
    return FleetObjects(nodes, typed, [(each.kind, each.body) for each in found])


def _neutral(node: Node) -> FleetNode:
    """The neutral form of a Node object."""
    name, labels = node.metadata.name, node.metadata.labels
    allocatable = node.status.allocatable or node.status.capacity
    has = {
        key: amount(key, allocatable[key], f"node {name}: status.allocatable.{key}")
        for key in ("cpu", "memory", GPU)
        if key in allocatable
    }
    return FleetNode(
        name,
        has.get("cpu", 0),
        has.get("memory", 0) >> 20,
        has.get(GPU, 0),
        labels.get(GPU_MODEL_LABEL, ""),
        zone=labels.get(ZONE_LABEL, ""),
    )
