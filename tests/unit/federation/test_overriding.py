"""Operations that override policies make of an object, as KubeAdmiral makes them."""

from typing import Any

import msgspec
import pytest

from stretto.api.kinds.federation import FEDERATED_CLUSTER
from stretto.api.types.federation.policies import OverrideRule
from stretto.base.errors import InputError
from stretto.federation.objects.members.wanted import desired
from stretto.federation.objects.overriding.operations import operations
from stretto.federation.objects.overriding.patches import patched
from stretto.reconcile.cache import StoredObject
from tests.support.federation_world import FederationWorld

ARGS = "/spec/template/spec/containers/0/args"
ENV = "/spec/template/spec/containers/0/env"


@pytest.fixture(scope="module")
def cluster() -> StoredObject:
    record = FederationWorld().host.get(FEDERATED_CLUSTER.kind, "", "alpha")
    assert record is not None
    return StoredObject(record)


def template(**container: Any) -> dict[str, Any]:
    containers = [{"name": "main", "image": "team/app:v1", **container}]
    spec = {"replicas": 1, "template": {"spec": {"containers": containers}}}
    return {"kind": "Deployment", "metadata": {"name": "web", "labels": {}}, "spec": spec}


def made(cluster: StoredObject, body: dict[str, Any], **overriders: Any) -> list[dict[str, Any]]:
    rule = msgspec.json.decode(msgspec.json.encode({"overriders": overriders}), type=OverrideRule)
    return operations([rule], body, cluster)


@pytest.mark.parametrize(
    ("operator", "value", "words"),
    [
        ("append", ["-x"], {"value": ["-x"]}),
        ("overwrite", ["-y"], {"value": ["-y"]}),
        ("delete", ["-z"], {}),
    ],
)
def test_arguments_are_replaced_where_there_are_none(
    operator: str, value: list[str], words: dict[str, list[str]], cluster: StoredObject
) -> None:
    args = [{"containerName": "main", "operator": operator, "value": value}]
    found = made(cluster, template(), args=args)
    assert found == [{"op": "replace", "path": ARGS, **words}]


def test_a_variable_keeps_its_source(cluster: StoredObject) -> None:
    variable = {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    envs = [{"containerName": "main", "operator": "addIfAbsent", "value": [variable]}]
    assert made(cluster, template(), envs=envs) == [
        {"op": "replace", "path": ENV, "value": [variable]}
    ]


def test_an_operation_that_replaces_an_absent_field_adds_it(cluster: StoredObject) -> None:
    found = made(cluster, template(), jsonpatch=[{"path": "/spec/minReadySeconds", "value": 9}])
    assert found == [{"path": "/spec/minReadySeconds", "value": 9}]
    assert patched(template(), found, "web")["spec"]["minReadySeconds"] == 9


@pytest.mark.parametrize("value", [{}, {"value": None}])
def test_an_operation_without_a_value_stays_without_it(
    value: dict[str, None], cluster: StoredObject
) -> None:
    removal = {"operator": "remove", "path": "/spec/replicas", **value}
    found = made(cluster, template(), jsonpatch=[removal])
    assert found == [{"op": "remove", "path": "/spec/replicas"}]


def test_operations_on_finalizers_apply_in_members_only(cluster: StoredObject) -> None:
    path = "/metadata/finalizers/-"
    found = made(
        cluster, template(), jsonpatch=[{"operator": "add", "path": path, "value": "lab/x"}]
    )
    assert found == [{"op": "add", "path": path, "value": "lab/x"}]
    assert desired(template(), found)["metadata"]["finalizers"] == ["lab/x"]


def image(component: str, operator: str, value: str = "") -> dict[str, Any]:
    return {
        "image": [
            {"operations": [{"imageComponent": component, "operator": operator, "value": value}]}
        ]
    }


@pytest.mark.parametrize(
    ("overriders", "said"),
    [
        (image("Tag", "overwrite", "a b"), "expected a tag such as v1.2"),
        (image("Digest", "addIfAbsent", "abc"), "expected a digest"),
        (image("Registry", "addIfAbsent"), "expected a registry to add"),
        ({"image": [{"imagePath": "spec/x", "operations": []}]}, "expected a path to an image"),
        ({"labels": [{"operator": "addIfAbsent", "value": {}}]}, "a name and a value to add"),
        ({"args": [{"containerName": "main", "operator": "append"}]}, "words to append"),
        ({"jsonpatch": [{"operator": "move", "path": "/spec/replicas"}]}, "operation"),
        ({"jsonpatch": [{"operator": "test", "path": "/spec/replicas", "value": 9}]}, "failed"),
        ({"jsonpatch": [{"path": "spec/replicas", "value": 9}]}, "path"),
    ],
)
def test_an_overrider_that_cannot_apply_states_why(
    overriders: dict[str, Any], said: str, cluster: StoredObject
) -> None:
    with pytest.raises(InputError, match=said):
        made(cluster, template(), **overriders)


def test_containers_of_a_kind_without_any_cannot_be_overridden(cluster: StoredObject) -> None:
    body = {"kind": "ConfigMap", "metadata": {"name": "conf"}, "data": {}}
    with pytest.raises(InputError, match="expected a kind with containers"):
        made(cluster, body, **image("Tag", "overwrite", "v2"))
