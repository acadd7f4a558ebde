"""A bad network and a server that dies, tried for real."""

import time
from contextlib import closing

import pytest

from stretto.api.wire.kinds import POD
from stretto.base.errors import TooOldError, UnreachableError
from stretto.stores.kube.store import KubeStore
from stretto.stores.store import Bind, StatusReason, Watch, WriteOutcome
from stretto_lab.control_plane.cluster import ControlPlane
from stretto_lab.control_plane.faulty_wire import FaultyWire
from tests.e2e.daemon import until
from tests.e2e.plane import LONGEST, SURE, store_of
from tests.e2e.reader import SPACE, Picture, made, pods

pytestmark = pytest.mark.kube


def test_a_watch_that_is_cut_again_and_again_loses_and_doubles_nothing(
    store: KubeStore, far: KubeStore, wire: FaultyWire
) -> None:
    picture = Picture(far)
    wire.cut_every = 0.3
    wire.cut()
    for number in range(40):
        made(store, f"p{number}")
        picture.poll()
        time.sleep(0.05)
    wire.heal()
    assert picture.settle(store)
    assert len(picture.pods) == 40
    assert picture.lists == 1


def test_a_killed_server_loses_nothing_that_it_acknowledged(
    plane: ControlPlane, store: KubeStore, hasty: KubeStore
) -> None:
    picture = Picture(store)
    before = made(store, *(f"a{number}" for number in range(20)))
    plane["kube-apiserver"].kill()
    lost = hasty.create(POD, pods(["lost"]))[0]
    assert (lost.outcome, lost.code) == (WriteOutcome.REFUSED, StatusReason.UNAVAILABLE)
    plane.restart("kube-apiserver")
    after = made(store, *(f"b{number}" for number in range(20)))
    assert picture.settle(store)
    assert {each.uid for each in before + after} == set(picture.pods)


def test_a_server_killed_under_load_answers_every_write(
    plane: ControlPlane, store: KubeStore, hasty: KubeStore
) -> None:
    picture = Picture(store)
    names = [f"p{number}" for number in range(400)]
    first = hasty.create(POD, pods(names[:200]))
    plane["kube-apiserver"].kill()
    plane["kube-apiserver"].start()
    second = hasty.create(POD, pods(names[200:]))
    plane.wait_ready()
    assert picture.settle(store)
    there = {each.name for each in picture.pods.values()}
    for name, reply in zip(names, first + second, strict=True):
        assert reply.outcome is not WriteOutcome.OK or name in there
        assert reply.outcome is not WriteOutcome.REFUSED or name not in there


def test_etcd_paused_answers_within_its_timeout_and_continues(
    plane: ControlPlane, store: KubeStore, hasty: KubeStore
) -> None:
    pod = made(store, "web")[0]
    plane["etcd"].pause()
    try:
        reply = hasty.bind([Bind(SPACE, "web", pod.uid, "n1")])[0]
        assert reply.outcome in (WriteOutcome.UNKNOWN, WriteOutcome.REFUSED)
    finally:
        plane["etcd"].resume()
    plane.wait_ready()
    again = store.bind([Bind(SPACE, "web", pod.uid, "n1")])[0]
    assert again.outcome is WriteOutcome.OK


def test_a_bind_whose_answer_is_lost_is_success_on_the_next_read(
    store: KubeStore, far: KubeStore, wire: FaultyWire
) -> None:
    pod = made(store, "web")[0]
    far.get(POD, SPACE, "web")
    wire.loses_replies = True
    reply = far.bind([Bind(SPACE, "web", pod.uid, "n1")])[0]
    assert reply.outcome in (WriteOutcome.UNKNOWN, WriteOutcome.REFUSED)
    wire.heal()
    if reply.outcome is WriteOutcome.UNKNOWN:  # sent, and so it lands
        until(lambda: node_of(far, "web") == "n1", lambda: "never bound")
    assert far.bind([Bind(SPACE, "web", pod.uid, "n1")])[0].outcome is WriteOutcome.OK


def test_a_create_whose_answer_is_lost_is_unknown_and_not_made_twice(
    store: KubeStore, far: KubeStore, wire: FaultyWire
) -> None:
    made(far, "warm")  # so that a connection exists and its request is seen
    wire.loses_replies = True
    body = pods([""])[0].replace(b'"name": ""', b'"generateName": "one-"')
    reply = far.create(POD, [body])[0]
    wire.heal()
    assert reply.outcome is WriteOutcome.UNKNOWN
    assert "read the object back" in reply.message
    until(lambda: made_of(store, "one-") != [], lambda: "never made")
    assert len(made_of(store, "one-")) == 1


def test_a_server_that_is_gone_costs_a_batch_its_timeout_once(
    far: KubeStore, wire: FaultyWire
) -> None:
    wire.is_down = True
    wire.cut()
    replies = far.create(POD, pods([f"p{number}" for number in range(500)]))
    assert {reply.outcome for reply in replies} <= {WriteOutcome.REFUSED, WriteOutcome.UNKNOWN}
    assert any("nothing was sent" in reply.message for reply in replies)
    with pytest.raises(UnreachableError):
        far.get(POD, SPACE, "p0")


def node_of(store: KubeStore, name: str) -> str:
    """The node of a pod as the server holds it."""
    found = store.get(POD, SPACE, name)
    return found.node if found is not None else ""


def made_of(store: KubeStore, prefix: str) -> list[str]:
    """Names of pods that begin so."""
    return [each.name for each in store.list(POD).records if each.name.startswith(prefix)]


def _poll_on(watch: Watch) -> None:
    """Poll for a while."""
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        watch.poll()
        time.sleep(0.05)


def test_a_slow_server_is_waited_for(
    plane: ControlPlane, store: KubeStore, wire: FaultyWire
) -> None:
    wire.latency = 0.2
    with closing(store_of(plane, SURE, wire.server)) as far:
        picture = Picture(far)
        records = made(far, *(f"p{number}" for number in range(20)))
        replies = far.bind([Bind(SPACE, each.name, each.uid, "n1") for each in records])
        assert {reply.outcome for reply in replies} == {WriteOutcome.OK}
        assert picture.settle(store)


def test_expired_history_is_reported_and_a_fresh_list_follows(
    plane: ControlPlane, store: KubeStore
) -> None:
    old = store.list(POD).version
    made(store, "a", "b")
    plane.restart("kube-apiserver")  # its watch cache restarts with what etcd holds now
    watch = store.watch(POD, old)
    with pytest.raises(TooOldError):
        _poll_on(watch)
    picture = Picture(store)
    made(store, "c")
    assert picture.settle(store)
