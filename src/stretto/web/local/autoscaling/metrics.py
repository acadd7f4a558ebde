"""metrics.k8s.io of a local cluster: the use of its simulated nodes and pods."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import msgspec

from stretto.api.schema.kubernetes import ResourceFacts, struct_of_kind
from stretto.api.types.capacity.metrics import NodeMetrics, PodMetrics
from stretto.api.wire.kinds import POD_METRICS, Kind
from stretto.capacity.load.estimate import DEFAULT_FACTORS, estimate
from stretto.web.api.bootstrap.creation import make
from stretto.web.api.resources import ServedResource
from stretto.web.api.state import ApiState
from stretto.workloads.cluster import LocalCluster
from stretto.workloads.use.simulated import SimulatedUse

Measured = NodeMetrics | PodMetrics

_GROUP: Final = POD_METRICS.group
_NODES: Final = Kind(_GROUP, "v1beta1", "NodeMetrics", "nodes", namespaced=False)
_VERBS: Final = ("get", "list")
_AGGREGATES: Final = "rbac.authorization.k8s.io/aggregate-to-"
_READERS: Final[dict[str, Any]] = {
    "metadata": {
        "name": "system:aggregated-metrics-reader",
        "labels": {f"{_AGGREGATES}{role}": "true" for role in ("view", "edit", "admin")},
    },
    "rules": [{"apiGroups": [_GROUP], "resources": ["pods", "nodes"], "verbs": list(_VERBS)}],
}
"""Role that lets users with view rights on a namespace read the use of its pods."""


@dataclass(frozen=True)
class MeasuredObjects:
    """Measurements as objects of the API."""

    #: Returns the measurement for a namespace and a name; ``None`` if there is none.
    one: Callable[[str, str], Measured | None]
    #: Returns the measurements of a namespace; an empty name means all.
    some: Callable[[str], Sequence[Measured]]

    def get(self, namespace: str, name: str) -> Mapping[str, Any] | None:
        """Return an object; ``None`` if there is no measurement with this name."""
        found = self.one(namespace, name)
        return None if found is None else _builtins(found)

    def list(self, namespace: str) -> list[Mapping[str, Any]]:
        """Return the objects of a namespace, or of all if it is empty."""
        return [_builtins(each) for each in self.some(namespace)]


def simulated_use(cluster: LocalCluster) -> SimulatedUse:
    """Return the use of a cluster: from annotations, otherwise the load-aware estimate."""
    return SimulatedUse(cluster, partial(estimate, factors=DEFAULT_FACTORS))


def serve_metrics(state: ApiState, use: SimulatedUse) -> None:
    """Serve metrics.k8s.io over the use of a cluster, to all users who may view its pods."""
    state.resources.add_computed(_resources(use))
    make(state, ("rbac.authorization.k8s.io", "v1", "clusterroles"), _READERS)


def _resources(use: SimulatedUse) -> list[ServedResource]:
    nodes = MeasuredObjects(lambda _, name: use.node(name), lambda _: use.nodes())
    pods = MeasuredObjects(use.pod, use.pods)
    return [_served(_NODES, nodes), _served(POD_METRICS, pods)]


def _served(kind: Kind, objects: MeasuredObjects) -> ServedResource:
    struct = struct_of_kind(kind.group, kind.version, kind.kind)
    assert struct is not None
    facts = ResourceFacts(_VERBS, namespaced=kind.namespaced)
    return ServedResource(kind, kind, facts, struct, computed=objects)


def _builtins(found: Measured) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(found)
    return made
