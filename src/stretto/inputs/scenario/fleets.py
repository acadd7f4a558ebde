"""The nodes of a scenario, in the neutral form and as objects."""

from collections.abc import Iterator, Sequence

import msgspec

from stretto.api.codec import decode_as
from stretto.api.types.core import Node
from stretto.api.wire.kinds import NODE
from stretto.api.wire.quantity import amount
from stretto.base.rng import Rng
from stretto.inputs.neutral.fleet import FleetNode, FleetTaint
from stretto.inputs.neutral.shapes import matching_nodes, nodes_like
from stretto.inputs.objects.objects import node_body
from stretto.inputs.scenario.format_keys import BUNDLED, trace_of
from stretto.inputs.scenario.node_objects import FleetObjects, nodes_of_manifests
from stretto.inputs.scenario.schema import FleetSpec, NodeShapeSpec, Scenario
from stretto.inputs.scenario.workloads import synthetic_nodes


def make_fleet(scenario: Scenario, rng: Rng) -> FleetObjects:
    """The nodes of a scenario, and the other objects of its manifests."""
    spec = scenario.fleet
    if spec.manifests is not None:
        return nodes_of_manifests(scenario, spec.manifests)
    nodes = _nodes(scenario, spec, rng)
    if spec.filter or spec.limit is not None:
        nodes = matching_nodes(nodes, spec.filter, spec.limit)
    if spec.zones:
        nodes = tuple(_zoned(nodes, spec.zones))
    bodies = [node_body(node) for node in nodes]
    typed = [decode_as(Node, body) for body in bodies]
    return FleetObjects(nodes, typed, [(NODE, body) for body in bodies])


def _nodes(scenario: Scenario, spec: FleetSpec, rng: Rng) -> tuple[FleetNode, ...]:
    """The nodes of all sources except manifests."""
    if spec.synthetic is not None:
        return synthetic_nodes(spec.synthetic.count, rng, zones=spec.synthetic.zones)
    if spec.shapes is not None:
        return tuple(_shaped(spec.shapes))
    if spec.like is not None:
        return nodes_like(spec.like, where="fleet.like")
    trace = trace_of(spec)
    assert trace is not None
    found = trace.format
    if trace.keys == BUNDLED and found.bundled is not None:
        return found.bundled().nodes
    assert found.nodes is not None
    return found.nodes(scenario.path(trace.keys.nodes))


def _shaped(shapes: Sequence[NodeShapeSpec]) -> Iterator[FleetNode]:
    """The nodes of shapes."""
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
    """The nodes; those without a zone are distributed over zones in turn."""
    turn = 0
    for node in nodes:
        if node.zone:
            yield node
        else:
            yield msgspec.structs.replace(node, zone=f"zone-{turn % zones}")
            turn += 1
