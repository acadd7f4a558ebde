"""Members of an embedded fleet perform server-side apply."""

from typing import Any

import msgspec
import pytest

from stretto.api.edit.patch import PatchType
from stretto.api.wire.kinds import DEPLOYMENT
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.sim.fleet.server.applying import ApplyingStore
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.render import render
from stretto.stores.store import Patch, Reply, StatusReason, WriteOutcome

BODY = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"namespace": "default", "name": "web"},
    "spec": {"replicas": 2, "paused": True},
}


@pytest.fixture
def store() -> ApplyingStore:
    made = ApplyingStore(MemoryStore(ManualClock(0.0), Rng(0)))
    made.create(DEPLOYMENT, [msgspec.json.encode(BODY)])
    return made


def apply(store: ApplyingStore, spec: dict[str, Any], name: str = "web", **more: Any) -> Reply:
    body = {**BODY, "metadata": {"namespace": "default", "name": name}, "spec": spec}
    patch = Patch("default", name, body, type=PatchType.APPLY, **more)
    return store.patch(DEPLOYMENT, [patch])[0]


def spec_of(store: ApplyingStore) -> Any:
    record = store.get(DEPLOYMENT, "default", "web")
    assert record is not None
    return msgspec.json.decode(render(record))["spec"]


def test_fields_that_are_applied_no_more_are_removed(store: ApplyingStore) -> None:
    assert apply(store, {"replicas": 3}).outcome is WriteOutcome.OK
    assert spec_of(store) == {"replicas": 3}


def test_fields_of_others_stay(store: ApplyingStore) -> None:
    apply(store, {"replicas": 3})
    store.patch(DEPLOYMENT, [Patch("default", "web", {"spec": {"minReadySeconds": 5}})])
    apply(store, {"replicas": 4})
    assert spec_of(store) == {"replicas": 4, "minReadySeconds": 5}


def test_an_apply_that_changes_nothing_is_no_new_version(store: ApplyingStore) -> None:
    apply(store, {"replicas": 3})
    before = store.get(DEPLOYMENT, "default", "web")
    assert apply(store, {"replicas": 3}).record == before


def test_another_version_is_a_conflict(store: ApplyingStore) -> None:
    assert apply(store, {"replicas": 3}, version=99).outcome is WriteOutcome.CONFLICT


def test_what_does_not_exist_is_not_created(store: ApplyingStore) -> None:
    assert apply(store, {"replicas": 3}, "other").code is StatusReason.NOT_FOUND
