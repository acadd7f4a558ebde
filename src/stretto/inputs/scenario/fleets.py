"""From a scenario's fleet to its machines, as neutral nodes and as objects."""

from collections.abc import Iterator, Sequence

import msgspec

from stretto.api.codec import decode_as
from stretto.api.types.core import Node
from stretto.api.wire.kinds import NODE, Kind
from stretto.api.wire.quantity import amount
from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.inputs.neutral.fleet import FleetNode, FleetTaint
from stretto.inputs.neutral.shapes import matching_nodes, nodes_like
from stretto.inputs.objects.manifests import ManifestOptions, load_objects
from stretto.inputs.objects.objects import GPU, GPU_MODEL_LABEL, ZONE_LABEL, node_body
from stretto.inputs.scenario.schema import FleetSpec, NodeShapeSpec, Scenario
from stretto.inputs.scenario.workloads import synthetic_nodes
from stretto.inputs.traces.openb.figures import bundled_openb
from stretto.inputs.traces.openb.reader import load_nodes


class FleetObjects(msgspec.Struct, frozen=True):
    """The machines of a scenario."""

    #: In the neutral form.
    nodes: tuple[FleetNode, ...]
    #: As Kubernetes objects, for rules that read labels and taints.
    typed: Sequence[Node]
    #: All objects that are there before the start, the nodes among them.
    objects: Sequence[tuple[Kind, bytes]]


def make_fleet(scenario: Scenario, rng: Rng) -> FleetObjects:
    """The machines of a scenario, and what else its manifests hold."""
    spec = scenario.fleet
    if spec.manifests is not None:
        return _from_manifests(scenario, spec.manifests)
    nodes = _nodes(scenario, spec, rng)
    if spec.filter or spec.limit is not None:
        nodes = matching_nodes(nodes, spec.filter, spec.limit)
    if spec.zones:
        nodes = tuple(_zoned(nodes, spec.zones))
    bodies = [node_body(node) for node in nodes]
    typed = [decode_as(Node, body) for body in bodies]
    return FleetObjects(nodes, typed, [(NODE, body) for body in bodies])


def _nodes(scenario: Scenario, spec: FleetSpec, rng: Rng) -> tuple[FleetNode, ...]:
    """The machines of all sources but manifests."""
    if spec.synthetic is not None:
        return synthetic_nodes(spec.synthetic.count, rng, zones=spec.synthetic.zones)
    if spec.shapes is not None:
        return tuple(_shaped(spec.shapes))
    if spec.like is not None:
        return nodes_like(spec.like, where="like")
    if spec.openb is None or spec.openb == "bundled":
        return bundled_openb().nodes
    return load_nodes(scenario.path(spec.openb.nodes))


def _shaped(shapes: Sequence[NodeShapeSpec]) -> Iterator[FleetNode]:
    """The nodes of described shapes."""
    number = 0
    for index, shape in enumerate(shapes):
        where = f"shapes[{index}]"
        for own in range(shape.count):
            yield FleetNode(
                f"{shape.name}-{own}" if shape.name else f"node-{number:04d}",
                amount("cpu", shape.cpu, f"{where}.cpu"),
                amount("memory", shape.memory, f"{where}.memory") >> 20,
                shape.gpus,
                shape.model if shape.gpus else "",
                shape.labels,
                shape.zone,
                tuple(FleetTaint(each.key, each.value, each.effect) for each in shape.taints),
                shape.pods,
            )
            number += 1


def _zoned(nodes: Sequence[FleetNode], zones: int) -> Iterator[FleetNode]:
    """The nodes, those without a zone put into zones in turn."""
    turn = 0
    for node in nodes:
        if node.zone:
            yield node
        else:
            yield msgspec.structs.replace(node, zone=f"zone-{turn % zones}")
            turn += 1


def _from_manifests(scenario: Scenario, paths: Sequence[str]) -> FleetObjects:
    """The machines among some manifests."""
    options = ManifestOptions(scenario.namespace, keep_missing_owners=True)
    found = load_objects([scenario.path(path) for path in paths], options)
    typed = [decode_as(Node, each.body) for each in found if each.kind is NODE]
    if not typed:
        given = ", ".join(paths)
        raise InputError("manifests", given, "files with at least one Node", "add some nodes")
    nodes = tuple(_neutral(node) for node in typed)
    return FleetObjects(nodes, typed, [(each.kind, each.body) for each in found])


def _neutral(node: Node) -> FleetNode:
    """A Node object as far as studies need it."""
    name, labels = node.metadata.name, node.metadata.labels
    room = node.status.allocatable or node.status.capacity
    has = {
        key: amount(key, room[key], f"node {name}: status.allocatable.{key}")
        for key in ("cpu", "memory", GPU)
        if key in room
    }
    return FleetNode(
        name,
        has.get("cpu", 0),
        has.get("memory", 0) >> 20,
        has.get(GPU, 0),
        labels.get(GPU_MODEL_LABEL, ""),
        zone=labels.get(ZONE_LABEL, ""),
    )
