"""Changes of federated objects, and look-ups among them, by their stored form."""

import json
from typing import Any

import pytest

from stretto.api.kinds.federation import FEDERATED_OBJECT
from stretto.federation import names
from stretto.federation.controllers.keys import is_status_only
from stretto.federation.objects import index
from stretto.reconcile.cache import Change, StoredObject
from stretto.stores.store import Record

TEMPLATE = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}


def federated(version: int = 1, uid: str = "u", deleting: str = "", **fields: Any) -> StoredObject:
    body = {"metadata": {"name": "web"}, "spec": {"template": TEMPLATE}, **fields}
    kind, stored = FEDERATED_OBJECT.kind, json.dumps(body).encode()
    return StoredObject(Record(kind, "s", "web", uid, version, stored, deleting=deleting))


def is_only_status(new: StoredObject) -> bool:
    return is_status_only(Change("host", FEDERATED_OBJECT.kind, federated(), new))


def test_a_changed_status_is_no_work() -> None:
    assert is_only_status(federated(2, status={"clusters": []}))


def test_another_order_of_fields_is_no_work() -> None:
    template = dict(reversed(TEMPLATE.items()))
    assert is_only_status(federated(2, spec={"template": template}))


@pytest.mark.parametrize(
    "change",
    [
        {"uid": "another"},
        {"deleting": "now"},
        {"metadata": {"name": "web", "labels": {"a": "b"}}},
        {"spec": {"template": {**TEMPLATE, "spec": {"replicas": 2}}}},
    ],
)
def test_all_other_changes_are_work(change: dict[str, Any]) -> None:
    assert not is_only_status(federated(2, **change))


def test_an_object_is_found_by_kind_policies_and_what_waits() -> None:
    labels, notes = {names.POLICY: "p", "app": "web"}, {names.WAITING: "2"}
    found = federated(metadata={"name": "web", "labels": labels, "annotations": notes})
    expected = {"kind apps/Deployment", index.label_key(names.POLICY, "p"), index.WAITING}
    assert set(index.keys_of(found)) == expected


@pytest.mark.parametrize("spec", [None, {}, {"template": None}, {"template": "text"}])
def test_an_object_without_a_template_has_no_kind(spec: object) -> None:
    assert index.kind_of(federated(spec=spec)) == ("", "")
