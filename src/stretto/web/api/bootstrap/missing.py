"""The objects of a new server: namespaces, priority classes, flow control, services, rights."""

from collections.abc import Mapping
from typing import Any, Final

from stretto.web.api.authz.roles import aggregate, bootstrap_rights
from stretto.web.api.bootstrap.creation import make, make_complete
from stretto.web.api.bootstrap.flows import make_flows, settle_flows
from stretto.web.api.bootstrap.registrations import initial_registrations, make_registration
from stretto.web.api.bootstrap.services import (
    api_objects,
    settle_authentication,
    settle_network,
)
from stretto.web.api.state import ApiState

Json = dict[str, Any]

_RBAC: Final = "rbac.authorization.k8s.io"
_NAMESPACES: Final = ("kube-system", "default", "kube-public", "kube-node-lease")
_PRIORITIES: Final = (
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2_000_000_000,
        (
            "Used for system critical pods that must run in the cluster, but can be moved to "
            "another node if necessary."
        ),
    ),
)


def make_missing(state: ApiState, authentication: Mapping[str, str]) -> None:
    """Create the objects that do not exist yet, one by one, and set their conditions."""
    for name in _NAMESPACES:
        make(state, ("", "v1", "namespaces"), {"metadata": {"name": name}})
    for name, value, text in _PRIORITIES:
        item = {"metadata": {"name": name}, "value": value, "description": text}
        make(state, ("scheduling.k8s.io", "v1", "priorityclasses"), item)
    make_flows(state)
    for resource, item in api_objects(state.now, authentication):
        make(state, resource, item)
    settle_authentication(state, authentication)
    settle_network(state)
    for item in initial_registrations(state):
        make_registration(state, item)
    for name, right in bootstrap_rights():
        _make_right(state, name, right)
    if state.aggregates_roles:
        aggregate(state)
    settle_flows(state)


def _make_right(state: ApiState, plural: str, right: Json) -> None:
    """Store a role or a binding in the form of kube-apiserver, if it does not exist."""
    no_rules = {"rules": None} if plural.endswith("roles") else {}  # as encoded by Go
    make_complete(state, (_RBAC, "v1", plural), {**no_rules, **right})
