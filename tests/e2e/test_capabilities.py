"""The API server lacks the capabilities for which the contract suite skips tests."""

import json

import pytest

from stretto.api.wire.kinds import POD, POD_DISRUPTION_BUDGET
from stretto.base.errors import TooOldError
from stretto.stores.kube.store import KubeStore
from stretto.stores.store import Bind, Deletion, Eviction, Patch, StatusReason, WriteOutcome
from tests.contract import bodies
from tests.e2e.reader import SPACE, Picture, done, made, pods

pytestmark = pytest.mark.kube


def test_whole_units_cannot_be_bound_in_one_transaction(store: KubeStore) -> None:
    assert not store.capabilities.binds_units


def test_a_bind_to_a_node_that_is_not_there_is_taken(store: KubeStore) -> None:
    pod = made(store, "web")[0]
    reply = store.bind([Bind(SPACE, "web", pod.uid, "ghost")])[0]
    assert (reply.outcome, reply.record) == (WriteOutcome.OK, None)


def test_a_budget_without_a_controller_permits_no_eviction(store: KubeStore) -> None:
    pod = made(store, "web")[0]
    store.bind([Bind(SPACE, "web", pod.uid, "n1")])
    keep = bodies.typed(
        POD_DISRUPTION_BUDGET, bodies.budget("keep", SPACE, minAvailable=0, selector={})
    )
    done(store.create(POD_DISRUPTION_BUDGET, [keep])[0])
    store.patch_status(POD, [Patch(SPACE, "web", {"status": {"phase": "Running"}})])
    reply = store.evict([Eviction(SPACE, "web", pod.uid)])[0]
    assert (reply.outcome, reply.code) == (WriteOutcome.REFUSED, StatusReason.TOO_MANY_REQUESTS)


def test_a_bound_pod_that_is_deleted_waits_for_its_node(store: KubeStore) -> None:
    picture = Picture(store)
    pod = made(store, "web")[0]
    store.bind([Bind(SPACE, "web", pod.uid, "n1")])
    # The server judges a deletion by its watch cache first: one that lags still shows the pod
    # without a node, and such a pod has no grace period. The cache holds every watched event.
    assert picture.settle(store)
    assert picture.pods[pod.uid].node == "n1"
    marked = done(store.delete(POD, [Deletion(SPACE, "web")])[0])
    assert marked.deleting
    assert store.get(POD, SPACE, "web") == marked


def test_fields_that_the_type_does_not_have_are_dropped(store: KubeStore) -> None:
    body = json.loads(pods(["web"])[0])
    body["spec"]["tomorrow"] = 1
    record = done(store.create(POD, [json.dumps(body).encode()])[0])
    assert b"tomorrow" not in record.body


def test_a_watch_from_the_future_waits_for_it(store: KubeStore) -> None:
    watch = store.watch(POD, store.list(POD).version + 1_000_000)
    store.wait(0.5)
    try:
        assert watch.poll() == []
    except TooOldError:
        pytest.fail("this server knows its newest version: say so in its capabilities")
