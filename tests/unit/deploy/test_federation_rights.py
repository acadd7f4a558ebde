"""Every right of the federation's manifests is used: the controllers run over a recording host."""

import base64
import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import pytest

from stretto.api.kinds.federation import (
    FEDERATED_CLUSTER,
    FEDERATED_TYPE_CONFIG,
    PROPAGATION_POLICY,
)
from stretto.api.wire.kinds import DEPLOYMENT, Kind
from stretto.base.clock import ManualClock
from stretto.federation import names
from stretto.federation.bootstrap import bootstrap
from stretto.federation.objects.defaults import default_types
from stretto.federation.objects.membership.credentials import BOOTSTRAP_TOKEN
from stretto.federation.objects.membership.kinds import SECRET
from stretto.federation.settings import FederationSettings
from stretto.sim.fleet.building import built
from stretto.sim.fleet.description import ClusterShape, FleetDescription
from stretto.sim.fleet.fleet import EmbeddedFleet
from stretto.sim.fleet.server.availability import ServerAvailability, UnreliableStore
from stretto.stores.store import Deletion, Patch
from tests.unit.deploy.test_federation_manifests import rules

Right = tuple[str, str, str]
"""Group, resource with its subresource, and verb."""

_ELSEWHERE: Final = {
    ("authentication.k8s.io", "tokenreviews"): "the server of metrics",
    ("authorization.k8s.io", "subjectaccessreviews"): "the server of metrics",
    ("coordination.k8s.io", "leases"): "the election of a leader",
    ("", "pods"): "a store that looks for the version of its server",
    ("core.kubeadmiral.io", "propagatedversions"): "hosts that answer later",
    ("core.kubeadmiral.io", "clusterpropagatedversions"): "hosts that answer later",
    ("core.kubeadmiral.io", "propagatedversions/status"): "hosts that answer later",
    ("core.kubeadmiral.io", "clusterpropagatedversions/status"): "hosts that answer later",
}
"""Rights of other parts of the process than the controllers, with the part."""
_FURTHER: Final = {("core.kubeadmiral.io", "clusterfederatedobjects", "patch")}
"""Rights for objects without a namespace that a policy places: of the further kinds."""
_PODS: Final = {
    "metadata": {"labels": {"app": "one"}},
    "spec": {"containers": [{"name": "main", "image": "app:v1"}]},
}
_JOB: Final = {"template": {**_PODS, "spec": {**_PODS["spec"], "restartPolicy": "Never"}}}
_TARGET: Final = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "one"}
_SPECS: Final[dict[str, Any]] = {
    "Deployment": {"replicas": 2, "template": _PODS},
    "StatefulSet": {"replicas": 1, "template": _PODS},
    "DaemonSet": {"template": _PODS},
    "Job": _JOB,
    "CronJob": {"schedule": "* * * * *", "jobTemplate": {"spec": _JOB}},
    "HorizontalPodAutoscaler": {"scaleTargetRef": _TARGET, "maxReplicas": 3},
}
_BALANCED: Final = {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}
_SCALED: Final = {
    names.RETAIN_REPLICAS: "true",
    names.FOLLOWER_LIST: json.dumps(
        [{"group": "autoscaling", "kind": "HorizontalPodAutoscaler", "name": "one"}]
    ),
}
"""Objects with which the autoscaler of a Deployment runs in members."""
_STATUS: Final[dict[str, Any]] = {
    "Service": _BALANCED,
    "Ingress": _BALANCED,
    "PersistentVolumeClaim": {"phase": "Bound"},
    "HorizontalPodAutoscaler": {"currentReplicas": 1},
    "CronJob": {"lastScheduleTime": "2026-01-01T00:00:00Z"},
}


@pytest.fixture(scope="module")
def used() -> set[Right]:
    """Calls of the controllers for a host that has an object of every kind."""
    found: defaultdict[UnreliableStore, set[Right]] = defaultdict(set)
    with pytest.MonkeyPatch.context() as patch:
        record(patch, found)
        fleet = built(FleetDescription((ClusterShape("east"), ClusterShape("west"))))
        fresh = EmbeddedFleet(ManualClock(0.0), FederationSettings()).served
        bootstrap(fresh)
        populate(fleet)
        run(fleet, 30.0)
        report(fleet)
        fleet.host.patch(DEPLOYMENT, [Patch("default", "one", {"spec": {"replicas": 3}})])
        run(fleet, 30.0)
        for each in default_types():
            kind = kind_of(each)
            fleet.host.delete(kind, [Deletion("default" if kind.namespaced else "", "one")])
        fleet.members["west"].served.set_availability(ServerAvailability.SILENT)
        fleet.host.delete(FEDERATED_CLUSTER.kind, [Deletion("", "west")])
        run(fleet, 60.0)
    return found[fleet.served] | found[fresh]


def record(patch: pytest.MonkeyPatch, found: defaultdict[UnreliableStore, set[Right]]) -> None:
    """Note each call of every API server."""
    write, calls = (
        UnreliableStore._write,
        {x: getattr(UnreliableStore, x) for x in ("list", "watch", "get")},
    )

    def noted(self: UnreliableStore, change: Any) -> Any:
        verb, _, sub = change.verb.value.partition(" ")
        resource = f"{change.kind.plural}/{sub}" if sub else change.kind.plural
        found[self].add((change.kind.group, resource, verb))
        return write(self, change)

    def reader(name: str) -> Any:
        def read(self: UnreliableStore, kind: Kind, *more: Any) -> Any:
            found[self].add((kind.group, kind.plural, name))
            return calls[name](self, kind, *more)

        return read

    patch.setattr(UnreliableStore, "_write", noted)
    for name in calls:
        patch.setattr(UnreliableStore, name, reader(name))


def populate(fleet: EmbeddedFleet) -> None:
    """One object of every configured kind, with a policy, and a configuration of no kind."""
    create(fleet, FEDERATED_TYPE_CONFIG.kind, "none", {}, {})
    create(fleet, PROPAGATION_POLICY.kind, "all", {}, {"schedulingMode": "Duplicate"})
    for each in default_types():
        kind = kind_of(each)
        create(fleet, kind, "one", {names.POLICY: "all"}, _SPECS.get(kind.kind, {}))
    fleet.host.patch(DEPLOYMENT, [Patch("default", "one", {"metadata": {"annotations": _SCALED}})])
    join_with_secret(fleet)


def join_with_secret(fleet: EmbeddedFleet) -> None:
    """A member whose service account token is kept in its secret."""
    fleet.add_member("lab")
    space = names.SYSTEM_NAMESPACE
    secret = {
        "metadata": {"name": "lab", "namespace": space},
        "data": {BOOTSTRAP_TOKEN: base64.b64encode(b"token").decode()},
    }
    fleet.host.create(SECRET, [msgspec.json.encode(secret)])
    reached = {"apiEndpoint": "https://lab", "useServiceAccount": True}
    create(fleet, FEDERATED_CLUSTER.kind, "lab", {}, {**reached, "secretRef": {"name": "lab"}})


def report(fleet: EmbeddedFleet) -> None:
    """Status that other controllers of a member write to an object."""
    member = fleet.members["east"].store
    for kind in map(kind_of, default_types()):
        status = _STATUS.get(kind.kind)
        if status is not None:
            member.patch_status(kind, [Patch("default", "one", {"status": status})])


def create(
    fleet: EmbeddedFleet, kind: Kind, name: str, labels: dict[str, str], spec: dict[str, Any]
) -> None:
    fleet.host.create(
        kind, [msgspec.json.encode({"metadata": {"name": name, "labels": labels}, "spec": spec})]
    )


def run(fleet: EmbeddedFleet, seconds: float) -> None:
    fleet.run_until(fleet.clock.monotonic() + seconds)


def kind_of(config: dict[str, Any]) -> Kind:
    source = config["spec"]["sourceType"]
    return Kind(
        source["group"],
        source["version"],
        source["kind"],
        source["pluralName"],
        namespaced=source["scope"] == "Namespaced",
    )


def rights(found: Sequence[dict[str, Any]]) -> set[Right]:
    """The rights of the controllers."""
    return {
        (group, resource, verb)
        for rule in found
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        if (group, resource) not in _ELSEWHERE
    }


def without_get(found: set[Right]) -> set[Right]:
    """Rights without ``get``, by which a store reads an object again after a lost answer."""
    return {each for each in found if each[2] != "get"}


def test_every_right_is_used(used: set[Right]) -> None:
    assert without_get(rights(rules()) - used) == _FURTHER


def test_every_use_is_permitted(used: set[Right]) -> None:
    assert used - rights(rules()) == {("", "namespaces", "create")}, "the manifest has it"
