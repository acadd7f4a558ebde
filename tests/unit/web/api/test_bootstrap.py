"""A new server creates its objects, and a restarted one those that are missing."""

import json

from stretto.api.wire.kinds import CONFIG_MAP, NAMESPACE
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Deletion
from stretto.web.api.authz.rules import CLUSTER_ROLE
from stretto.web.api.server import ApiServer, ApiSettings

START = 1_790_000_000.0


def served(store: MemoryStore, clock: ManualClock, **authentication: str) -> ApiServer:
    return ApiServer(store, ApiSettings(clock, Rng(2), authentication=authentication))


def bodies(server: ApiServer) -> set[bytes]:
    """All objects of a server, as stored."""
    storage = server.state.storage
    kinds = {each.stored for each in server.state.resources.built_in()}
    return {record.body for kind in kinds for record in storage.listing(kind).records}


def test_objects_of_an_empty_store_equal_those_that_are_created_one_by_one() -> None:
    clock = ManualClock(START)
    used = MemoryStore(clock, Rng(1))
    used.create(NAMESPACE, [b'{"metadata": {"name": "shop"}}'])
    one_by_one = bodies(served(used, clock, key="k"))
    new = bodies(served(MemoryStore(clock, Rng(1)), clock, key="k"))
    assert len(new) > 180
    assert one_by_one - new == {used.list(NAMESPACE).records[-1].body}
    assert new <= one_by_one


def test_objects_have_the_time_and_the_settings_of_their_server() -> None:
    for day in (1, 2):
        clock = ManualClock(START + day * 86_400)
        server = served(MemoryStore(clock, Rng(1)), clock, key=f"k{day}")
        record = server.state.storage.store.get(
            CONFIG_MAP, "kube-system", "extension-apiserver-authentication"
        )
        assert record is not None
        assert json.loads(record.body)["data"] == {"key": f"k{day}"}
        assert record.created == f"2026-09-{21 + day}T14:13:20Z"


def test_a_restart_creates_a_deleted_role_again() -> None:
    clock = ManualClock(START)
    store = MemoryStore(clock, Rng(1))
    before = bodies(served(store, clock))
    store.delete(CLUSTER_ROLE, [Deletion("", "edit")])
    assert bodies(served(store, clock)) == before


def test_objects_that_a_store_has_before_the_first_start_stay() -> None:
    clock = ManualClock(START)
    store = MemoryStore(clock, Rng(1))
    store.create(CLUSTER_ROLE, [b'{"metadata": {"name": "edit"}, "rules": []}'])
    server = served(store, clock)
    edit = store.get(CLUSTER_ROLE, "", "edit")
    assert edit is not None
    assert b"aggregationRule" not in edit.body
    assert len(bodies(server)) > 180
