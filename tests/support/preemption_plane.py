"""Planes with preemptible pods, in virtual time."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from stretto.api.wire.kinds import POD, POD_DISRUPTION_BUDGET
from stretto.framework.profile.profile import load_profile
from stretto.state.rows.lifecycle import PodState
from stretto.stores.store import Patch
from stretto.testing import Harness, make_node, make_pod

NO_MORE: Mapping[str, Any] = MappingProxyType({})
HOLD = {"metadata": {"finalizers": ["stretto.dev/test"]}}


def harness(*nodes: bytes, profile: Mapping[str, Any] = NO_MORE, **rules: Any) -> Harness:
    made = load_profile({"profiles": [{"stretto": {**profile, "preemption": rules or True}}]})
    return Harness(nodes or [make_node("n", cpu="4")], profile=made, config={"tier": "numpy"})


def running(*pods: bytes, nodes: tuple[bytes, ...] = (), **rules: Any) -> Harness:
    """A plane whose first pods are bound."""
    made = harness(*nodes, **rules)
    made.submit(*pods)
    made.settle()
    return made


def low(name: str = "low", **more: Any) -> bytes:
    return make_pod(name, **{"cpu": "3", "priority": 1, **more})


def high(name: str = "high", **more: Any) -> bytes:
    return make_pod(name, **{"cpu": "3", "priority": 10, **more})


def held(name: str = "low", **more: Any) -> bytes:
    """A pod whose finalizer delays its deletion."""
    body = msgspec.json.decode(low(name, **more))
    body["metadata"] |= HOLD["metadata"]
    return msgspec.json.encode(body)


def finish_eviction(plane: Harness, name: str = "low") -> None:
    plane.store.patch(POD, [Patch("default", name, {"metadata": {"finalizers": None}})])


def budget(plane: Harness, **spec: Any) -> None:
    spec = {"selector": {"matchLabels": {"app": "web"}}, **spec}
    body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": spec}
    body["metadata"] = {"name": "pdb", "namespace": "default"}
    plane.create(POD_DISRUPTION_BUDGET, msgspec.json.encode(body))


def state(plane: Harness, name: str) -> PodState:
    pods = plane.plane.cluster.pods
    return next(PodState(int(pods.state[r])) for r in pods.rows() if pods.name[r] == name)


def clean(plane: Harness) -> bool:
    return not plane.breaches() and not plane.plane.dispatcher.audit()
