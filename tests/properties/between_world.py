"""Random clusters whose pods have terms about other pods, and their possible events.

Everything odd is drawn: nodes that lack a label or share a host name, namespaces by label,
selectors that match no pod or all pods, policies, min domains, terms of running pods. The cluster
is fed by events, as from a store; a snapshot of the exact path is made from the same objects.
"""

import json
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from stretto.api.codec import decode_as
from stretto.api.types.core import Namespace, Node
from stretto.api.types.pod import Pod
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.state.rows.pods import NO_SLOT
from stretto.state.work.units import Cure
from stretto.testing import make_node, make_pod
from tests.support.hand_fed_cluster import DELETED, MODIFIED, ClusterFeed

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
HOST, ZONE, RACK = "kubernetes.io/hostname", "topology.kubernetes.io/zone", "rack"
KEYS = (HOST, HOST, ZONE, ZONE, RACK, "nowhere")
SPACES = {"one": {"team": "x"}, "two": {"team": "y"}, "bare": {}}
EXPRESSIONS: tuple[dict[str, Any], ...] = (
    {"key": "app", "operator": "In", "values": ["a", "b"]},
    {"key": "app", "operator": "NotIn", "values": ["a"]},
    {"key": "tier", "operator": "Exists"},
    {"key": "tier", "operator": "DoesNotExist"},
)
SPACE_SELECTORS: tuple[dict[str, Any], ...] = (
    {},
    {"matchLabels": {"team": "x"}},
    {
        "matchExpressions": [
            {"key": "team", "operator": "NotIn", "values": ["x"]},
            {"key": "team", "operator": "Exists"},
        ]
    },
)
"""Selectors on which kube-parity agrees: without ``Exists`` the last one is a quirk of upstream."""


class Shape(NamedTuple):
    """Part that hypothesis draws and shrinks; the rest follows from the seed."""

    seed: int
    nodes: int
    zones: int
    forms: int
    running: int
    steps: int


shapes = st.builds(
    Shape,
    seed=st.integers(0, 2**32 - 1),
    nodes=st.integers(1, 9),
    zones=st.integers(1, 3),
    forms=st.integers(1, 6),
    running=st.integers(0, 12),
    steps=st.integers(1, 8),
)


class World:
    """A cluster, the bodies of its objects, and dice."""

    def __init__(self, shape: Shape) -> None:
        self.rng = np.random.default_rng(shape.seed)
        self.zones = shape.zones
        self.feed = ClusterFeed()
        self.cluster = self.feed.cluster
        self.spaces = {name: labels for name, labels in SPACES.items() if self.chance(0.8)}
        for name, labels in self.spaces.items():
            self.cluster.objects.put(namespace(name, labels))
        self.nodes: dict[str, bytes] = {}
        self.pods: dict[str, bytes] = {}
        self.deleting: set[str] = set()
        self.twins = self.chance(0.1)
        for number in range(shape.nodes):
            self.put_node(f"n{number}")
        self.forms = [self.form() for _ in range(shape.forms)]
        self.count = 0
        for _ in range(shape.running):
            self.add_pod(self.pick(sorted(self.nodes)))

    # ------------------------------------------------------------ dice

    def chance(self, odds: float) -> bool:
        return bool(self.rng.random() < odds)

    def pick(self, choices: Any) -> Any:
        return choices[int(self.rng.integers(0, len(choices)))]

    # ------------------------------------------------------------ nodes and pods

    def put_node(self, name: str) -> None:
        more: dict[str, Any] = {"labels": {}, "cpu": self.pick(("2", "4")), "pods": 20}
        if self.chance(0.9):
            more["zone"] = "abc"[int(self.rng.integers(0, self.zones))]
        if self.chance(0.6):
            more["labels"]["rack"] = self.pick(("r1", "r2", "r3"))
        if self.twins and self.chance(0.5):
            more["labels"][HOST] = "twin"
        if self.chance(0.15):
            more["taints"] = [{"key": "t", "value": "", "effect": "NoSchedule"}]
        body = json.loads(make_node(name, **more))
        if self.chance(0.05):
            del body["metadata"]["labels"][HOST]
        self.nodes[name] = json.dumps(body).encode()
        self.feed.node(self.nodes[name], MODIFIED)

    def lose_node(self, name: str) -> None:
        self.feed.node(self.nodes.pop(name), DELETED)

    def add_pod(self, node: str = "") -> str:
        """A new pod of some form, bound where a node is named; its name."""
        name = f"p{self.count}"
        self.count += 1
        space, labels, spec = self.pick(self.forms)
        if self.chance(0.2):
            labels = self.labels()
        body = json.loads(make_pod(name, namespace=space, labels=labels, spec=spec))
        if node:
            body["spec"]["nodeName"] = node
        self.pods[name] = json.dumps(body).encode()
        self.feed.pod(self.pods[name])
        return name

    def relabel(self, name: str) -> None:
        body = json.loads(self.pods[name])
        body["metadata"]["labels"] = self.labels()
        self.pods[name] = json.dumps(body).encode()
        self.feed.pod(self.pods[name], MODIFIED)

    def end_pod(self, name: str) -> None:
        self.deleting.discard(name)
        self.feed.pod(self.pods.pop(name), DELETED)

    def evict(self, name: str) -> None:
        self.deleting.add(name)
        self.feed.pod(self.pods[name], MODIFIED, deleting="2026-01-01T00:00:00Z")

    def rename_space(self) -> None:
        """A namespace's labels change."""
        name = self.pick(sorted(SPACES))
        self.spaces[name] = {"team": self.pick(("x", "y", "z"))}
        self.cluster.objects.put(namespace(name, self.spaces[name]))
        self.cluster.domains.reassign_populations((name,))
        self.cluster.changes.cures |= Cure.NAMESPACE_CHANGED

    def happen(self) -> None:
        """Something that others do."""
        bound = [name for name in self.pods if self.node_of(name)]
        what = self.pick(
            ("node", "node", "lose", "end", "end", "relabel", "leave", "come", "space")
        )
        if what == "node":
            self.put_node(f"n{self.rng.integers(0, 10)}")
        elif what == "lose" and len(self.nodes) > 1:
            self.lose_node(self.pick(sorted(self.nodes)))
        elif what == "end" and bound:
            self.end_pod(self.pick(bound))
        elif what == "relabel" and self.pods:
            self.relabel(self.pick(sorted(self.pods)))
        elif what == "leave" and bound:
            self.evict(self.pick(bound))
        elif what == "come" and self.nodes:
            self.add_pod(self.pick(sorted(self.nodes)))
        elif what == "space":
            self.rename_space()

    def node_of(self, name: str) -> str:
        """The node of a pod in the cluster state."""
        row = self.feed.row(name)
        slot = int(self.cluster.pods.slot[row])
        return "" if slot == NO_SLOT else self.cluster.nodes.names[slot]

    # ------------------------------------------------------------ what pods say

    def labels(self) -> dict[str, str]:
        labels = {"app": self.pick("abc")} if self.chance(0.8) else {}
        return {**labels, "tier": self.pick("xy")} if self.chance(0.4) else labels

    def form(self) -> tuple[str, dict[str, str], dict[str, Any]]:
        """A namespace, labels and a spec."""
        affinity: dict[str, Any] = {}
        for kind in ("podAffinity", "podAntiAffinity"):
            terms: dict[str, Any] = {}
            if self.chance(0.4):
                terms[REQUIRED] = [self.term() for _ in range(self.pick((1, 1, 2)))]
            if self.chance(0.3):
                preferences = range(self.pick((1, 2)))
                terms[PREFERRED] = [
                    {"weight": self.pick((1, 10, 100)), "podAffinityTerm": self.term()}
                    for _ in preferences
                ]
            if terms:
                affinity[kind] = terms
        spec: dict[str, Any] = {"affinity": affinity} if affinity else {}
        if self.chance(0.5):
            count = self.pick((1, 1, 2, 3))
            spec["topologySpreadConstraints"] = [self.constraint() for _ in range(count)]
        if self.chance(0.2):
            spec["nodeSelector"] = {"rack": self.pick(("r1", "r2"))}
        if self.chance(0.3):
            spec["tolerations"] = [{"key": "t", "operator": "Exists"}]
        return self.pick(sorted(SPACES)), self.labels(), spec

    def term(self) -> dict[str, Any]:
        found: dict[str, Any] = {"topologyKey": self.pick(KEYS[:5])}
        if self.chance(0.95):
            found["labelSelector"] = self.selector()
        if self.chance(0.2):
            found["namespaces"] = [self.pick(sorted(SPACES))]
        if self.chance(0.25):
            found["namespaceSelector"] = self.pick(SPACE_SELECTORS)
        return found

    def selector(self) -> dict[str, Any]:
        if self.chance(0.7):
            return {"matchLabels": {"app": self.pick("abc")}}
        return {"matchExpressions": [self.pick(EXPRESSIONS)]} if self.chance(0.8) else {}

    def constraint(self) -> dict[str, Any]:
        hard = self.chance(0.6)
        found = {
            "maxSkew": self.pick((1, 1, 2, 5)),
            "topologyKey": self.pick(KEYS),
            "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
            "labelSelector": self.selector() or {"matchLabels": {"app": "a"}},  # empty: a quirk
        }
        if hard and self.chance(0.3):
            found["minDomains"] = self.pick((1, 2, 3, 5))
        for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if self.chance(0.3):
                found[policy] = self.pick(("Honor", "Ignore"))
        if self.chance(0.2):
            found["matchLabelKeys"] = ["tier"]
        return found

    # ------------------------------------------------------------ the exact path's view

    def snapshot(self) -> ParitySnapshot:
        """The same cluster for the exact path."""
        nodes = [decode_as(Node, body, "node") for body in self.nodes.values()]
        pods = []
        for name in self.pods:
            node = self.node_of(name)
            if node:
                pods.append(self.pod(name, node))
        spaces = [namespace(name, labels) for name, labels in self.spaces.items()]
        return ParitySnapshot(nodes, pods, spaces)

    def pod(self, name: str, node: str = "") -> Pod:
        """A pod in full, on a node."""
        body = json.loads(self.pods[name])
        body["spec"]["nodeName"] = node
        if name in self.deleting:
            body["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        return decode_as(Pod, json.dumps(body).encode(), "pod")


def namespace(name: str, labels: dict[str, str]) -> Namespace:
    """A namespace with labels."""
    body = {"metadata": {"name": name, "labels": labels}}
    return decode_as(Namespace, json.dumps(body).encode(), "namespace")
