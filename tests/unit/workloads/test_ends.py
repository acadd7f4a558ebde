"""Garbage collection and ends of namespaces over a store without an API server."""

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from stretto.api.wire.kinds import CONFIG_MAP, JOB, NAMESPACE, POD, Kind
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.reconcile.loop import ReconcileLoop
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.render import render
from stretto.stores.store import Deletion, Patch
from stretto.workloads.cron import CRON_JOB
from stretto.workloads.deletion import FOREGROUND, objects_of_store
from stretto.workloads.garbage.collector import GarbageCollector
from stretto.workloads.namespaces import NamespaceEndController

KINDS = (CONFIG_MAP, CRON_JOB, JOB, POD)


class World:
    """A store with a garbage collector and an end of namespaces."""

    def __init__(self) -> None:
        clock = ManualClock(1_000_000.0)
        self.store = MemoryStore(clock, Rng(1))
        self.loop = ReconcileLoop(clock)
        cache = self.loop.add_store("alpha", self.store)
        objects = objects_of_store(self.store, lambda: KINDS)
        self.loop.add_controllers(
            [GarbageCollector(cache, objects), NamespaceEndController(cache, objects)]
        )

    def create(self, kind: Kind, name: str, *owners: dict[str, Any], **more: Any) -> dict[str, Any]:
        """An object with owners; returns a reference to it."""
        metadata = {"name": name, "namespace": "shop" if kind.namespaced else "", **more}
        body = {"metadata": {**metadata, "ownerReferences": list(owners)}}
        if kind == POD:
            body["spec"] = {"containers": [{"name": "main", "image": "v1"}]}
        record = self.store.create(kind, [msgspec.json.encode(body)])[0].record
        assert record is not None
        owner = {"apiVersion": kind.api_version, "kind": kind.kind, "name": name}
        return {**owner, "uid": record.uid, "controller": True, "blockOwnerDeletion": True}

    def delete(self, kind: Kind, name: str) -> None:
        self.store.delete(kind, [Deletion("shop" if kind.namespaced else "", name)])
        self.loop.step()

    def names(self, kinds: Iterable[Kind] = KINDS) -> set[str]:
        return {each.name for kind in kinds for each in self.store.list(kind).records}


@pytest.fixture
def world() -> World:
    return World()


def test_the_jobs_of_a_deleted_cron_job_are_deleted_with_their_pods(world: World) -> None:
    job = world.create(JOB, "nightly-1", world.create(CRON_JOB, "nightly"))
    world.create(POD, "nightly-1-a", job)
    world.loop.step()
    world.delete(CRON_JOB, "nightly")
    assert world.names() == set()


def test_an_object_with_another_owner_stays_without_the_reference(world: World) -> None:
    first, second = world.create(CONFIG_MAP, "first"), world.create(CONFIG_MAP, "second")
    world.create(POD, "child", first, second)
    world.delete(CONFIG_MAP, "first")
    child = msgspec.json.decode(render(world.store.list(POD).records[0]))
    assert [each["name"] for each in child["metadata"]["ownerReferences"]] == ["second"]


def test_an_owner_in_the_foreground_ends_after_its_dependents(world: World) -> None:
    parent = world.create(CONFIG_MAP, "parent", finalizers=[FOREGROUND])
    child = world.create(CONFIG_MAP, "child", parent)
    world.create(CONFIG_MAP, "grandchild", child, finalizers=["shop.example/hold"])
    world.delete(CONFIG_MAP, "parent")
    assert world.names() == {"parent", "child", "grandchild"}
    world.store.patch(CONFIG_MAP, [Patch("shop", "grandchild", {"metadata": {"finalizers": None}})])
    world.loop.step()
    assert world.names() == set()


def test_the_content_of_a_namespace_that_is_gone_is_deleted(world: World) -> None:
    world.create(NAMESPACE, "shop")
    for kind in KINDS:
        world.create(kind, kind.plural)
    world.loop.step()
    world.delete(NAMESPACE, "shop")
    assert world.names() == set()
