"""Services over clusters: exported endpoints, imported Services."""

import json
from typing import Any

import pytest

from stretto.api.kinds.federation import PROPAGATION_POLICY, SCHEDULING_PROFILE
from stretto.api.wire.kinds import CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT, SERVICE, Kind
from stretto.federation import names
from stretto.stores.render import render
from stretto.stores.store import Deletion, Patch, Store
from stretto.workloads.services.slices import ENDPOINT_SLICE
from tests.support.federation_world import FederationWorld

EXPORT = Kind("multicluster.x-k8s.io", "v1alpha1", "ServiceExport", "serviceexports")
IMPORT = Kind("multicluster.x-k8s.io", "v1alpha1", "ServiceImport", "serviceimports")


@pytest.fixture
def world() -> FederationWorld:
    """A Deployment with its Service in alpha and beta; gamma may import."""
    made = FederationWorld()
    scheduled = [[names.SCHEDULER], [names.OVERRIDES]]
    for kind in (SERVICE, EXPORT, IMPORT):
        made.type(kind.plural, kind, scheduled)
    made.type("endpointslices", ENDPOINT_SLICE, [])
    for member in made.fleet.members.values():
        for kind in (EXPORT, IMPORT):
            member.store.create(CUSTOM_RESOURCE_DEFINITION, [json.dumps(definition(kind)).encode()])
    plugins = {"filter": {"disabled": [{"name": "APIResources"}]}}
    made.create(SCHEDULING_PROFILE.kind, "any", spec={"plugins": plugins})
    for name, clusters in {"plan": ("alpha", "beta"), "there": ("gamma",)}.items():
        placement = [{"cluster": each} for each in clusters]
        spec = {"schedulingMode": "Duplicate", "placement": placement, "schedulingProfile": "any"}
        made.create(PROPAGATION_POLICY.kind, name, spec=spec)
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main"}]}}
    put(made, DEPLOYMENT, "plan", spec={"replicas": 1, "template": template})
    ports = [{"name": "http", "port": 80, "targetPort": 8080}]
    put(made, SERVICE, "plan", spec={"selector": {"app": "web"}, "ports": ports})
    put(made, EXPORT, "plan")
    made.run(12.0)
    return made


def definition(kind: Kind) -> dict[str, Any]:
    """The CRD of a kind."""
    spec = {
        "group": kind.group,
        "scope": "Namespaced",
        "names": {"kind": kind.kind, "plural": kind.plural},
        "versions": [{"name": kind.version, "served": True, "storage": True}],
    }
    return {"metadata": {"name": f"{kind.plural}.{kind.group}"}, "spec": spec}


def put(world: FederationWorld, kind: Kind, policy: str, **fields: Any) -> None:
    labels = {names.POLICY: policy}
    metadata = {"namespace": "default", "labels": labels}
    world.create(kind, "web", metadata=metadata, **fields)


def slices(store: Store) -> dict[str, int]:
    """Endpoints of each imported EndpointSlice, by the cluster that exports it."""
    found = [json.loads(render(each)) for each in store.list(ENDPOINT_SLICE).records]
    return {
        each["metadata"]["labels"][names.SOURCE_CLUSTER]: len(each["endpoints"])
        for each in found
        if names.SOURCE_CLUSTER in each["metadata"]["labels"]
    }


def import_it(world: FederationWorld) -> Store:
    spec = {"type": "ClusterSetIP", "ports": [{"name": "http", "port": 80, "protocol": "TCP"}]}
    put(world, IMPORT, "there", spec=spec)
    world.run(12.0)
    return world.fleet.members["gamma"].store


def test_the_endpoints_of_exporting_clusters_come_to_the_host(world: FederationWorld) -> None:
    assert slices(world.host) == {"alpha": 1, "beta": 1}


def test_an_importing_cluster_gets_a_service_and_all_endpoints(world: FederationWorld) -> None:
    store = import_it(world)
    record = store.get(SERVICE, "default", "web")
    assert record is not None
    assert json.loads(render(record))["spec"]["ports"][0]["port"] == 80
    assert slices(store) == {"alpha": 1, "beta": 1}


def test_the_service_of_an_import_stays_beside_that_of_the_exporters(
    world: FederationWorld,
) -> None:
    import_it(world)
    holding = [
        name
        for name, member in world.fleet.members.items()
        if member.store.get(SERVICE, "default", "web") is not None
    ]
    assert holding == ["alpha", "beta", "gamma"]


def test_an_import_that_is_deleted_takes_its_service_along(world: FederationWorld) -> None:
    store = import_it(world)
    world.host.delete(IMPORT, [Deletion("default", "web")])
    world.run(20.0)
    assert store.get(SERVICE, "default", "web") is None
    assert slices(store) == {}


def test_an_export_that_is_deleted_takes_the_endpoints_along(world: FederationWorld) -> None:
    world.host.delete(EXPORT, [Deletion("default", "web")])
    world.run(20.0)
    assert slices(world.host) == {}


def test_endpoints_follow_the_pods(world: FederationWorld) -> None:
    world.host.patch(DEPLOYMENT, [Patch("default", "web", {"spec": {"replicas": 3}})])
    world.run(12.0)
    assert slices(world.host) == {"alpha": 3, "beta": 3}
