"""Events that came late, twice, not at all, or with an old body: cases 11 to 20.

Cases 8, 9, 10 and 15 are in test_lost_events.
"""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from stretto.api.wire.kinds import NODE, POD, Kind
from stretto.base.errors import StrettoError
from stretto.explain.doctor.pod_checks import unknown_nodes
from stretto.stores import reflector
from stretto.stores.kube.store import KubeStore
from stretto.stores.kube.transport.options import KubeOptions
from stretto.stores.store import (
    EVERYTHING,
    Bind,
    Listing,
    ListOptions,
    Patch,
    Watch,
    WatchEvent,
    WriteOutcome,
)
from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig
from stretto_lab.control_plane.faulty_wire import FaultyWire
from tests.e2e.daemon import PODS, SPACE, group, item, member, put
from tests.e2e.plane import GROUPS, Ground, ground_on, store_of
from tests.e2e.reader import Picture, done, made

pytestmark = pytest.mark.kube


class Forgetful:
    """A store whose watches lose some events, as a server with a bug would."""

    def __init__(self, inner: KubeStore, loses: Callable[[WatchEvent], bool]) -> None:
        self._inner, self._loses = inner, loses

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def list(self, kind: Kind, selection: ListOptions = EVERYTHING) -> Listing:
        return self._inner.list(kind, selection)

    def watch(self, kind: Kind, since: int, selection: ListOptions = EVERYTHING) -> Watch:
        watch = self._inner.watch(kind, since, selection)
        poll = watch.poll

        def kept(limit: int = 4096) -> Sequence[WatchEvent]:
            return [event for event in poll(limit) if not self._loses(event)]

        watch.poll = kept  # type: ignore[method-assign, assignment]
        return watch


def uid_of(ground: Ground, name: str) -> str:
    uid: str = item(ground.site, f"{PODS}/{name}")["metadata"]["uid"]
    return uid


def test_case_11_a_tombstone_is_only_an_id(ground: Ground) -> None:
    ground.nodes("n0", cpu="1")
    ground.synced()
    ground.pods("web", schedulerName="other")
    ground.go_for(0.3)
    bind = Bind(SPACE, "web", uid_of(ground, "web"), "n0")
    assert ground.near.bind([bind])[0].outcome is WriteOutcome.OK
    ground.remove("web")  # the body that goes with it was never seen as it was on the node
    ground.pods("next")
    ground.go(lambda: ground.bound() == {"next": "n0"})
    ground.laws_hold()


def test_case_12_a_pod_whose_event_was_lost_is_found_by_comparing(ground: Ground) -> None:
    ground.nodes("n0")
    store = Forgetful(ground.far, lambda event: event.record.name == "unseen")
    ground.plane.close()
    ground.plane = ground.new_plane(store, compare_every=1.0)
    ground.synced()
    ground.pods("unseen")
    ground.go(lambda: "unseen" in ground.bound())
    ground.laws_hold(own_state=False)


def test_case_13_a_server_that_was_restored_from_a_backup_is_listed_afresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its versions go back, so the last seen version is higher than any future one."""
    monkeypatch.setattr(reflector, "WENT_BACK_AFTER", 2.0)
    monkeypatch.setattr(reflector, "WENT_BACK_TIMES", 3)
    options = KubeOptions(watch_idle=1.0, longest_wait=0.5)
    with ControlPlane(ControlPlaneConfig()) as plane:
        put(plane, "/api/v1/namespaces", {"metadata": {"name": SPACE}})
        with ground_on(plane, options) as ground:
            ground.nodes("n0", cpu="4")
            ground.pods("old")
            ground.go(ground.all_bound(1))
            with kept(plane, tmp_path):
                ground.pods(*(f"lost{number}" for number in range(3)))
                ground.go(ground.all_bound(4))
                write_on(ground)
            ground.pods("new")
            with pytest.raises(StrettoError, match="went back"):
                ground.go(lambda: "new" in ground.bound())
            ground.plane.close()  # as the daemon does
            ground.plane = ground.new_plane()
            ground.go(lambda: "new" in ground.bound())
            assert set(ground.bound()) == {"old", "new"}


def write_on(ground: Ground) -> None:
    """Write until what is seen here is far ahead of what a server writes as it starts."""
    for number in range(200):
        note = {"metadata": {"annotations": {"turn": str(number)}}}
        done(ground.near.patch(NODE, [Patch("", "n0", note)])[0])
    for kind, space, name in ((NODE, "", "n0"), (POD, SPACE, "old")):
        last = done(ground.near.patch(kind, [Patch(space, name, {**note})])[0]).version
        feed = ground.plane.pump._feeds[kinds_of(ground).index(kind)]
        ground.go(lambda feed=feed, last=last: feed.version >= last)


@contextmanager
def kept(plane: ControlPlane, folder: Path) -> Iterator[None]:
    """Take a copy of what etcd holds, and restore it in the end."""
    data = next(
        Path(word.partition("=")[2])
        for word in plane["etcd"]._command
        if word.startswith("--data-dir=")
    )
    for part in ("kube-apiserver", "etcd"):
        plane[part].stop()
    shutil.copytree(data, folder / "copy")
    for part in ("etcd", "kube-apiserver"):
        plane[part].start()
    plane.wait_ready()
    yield
    for part in ("kube-apiserver", "etcd"):
        plane[part].stop()
    shutil.rmtree(data)
    shutil.copytree(folder / "copy", data)
    for part in ("etcd", "kube-apiserver"):
        plane[part].start()
    plane.wait_ready()


def test_case_14_a_watch_that_went_silent_is_opened_again(
    plane: ControlPlane, wire: FaultyWire, store: KubeStore
) -> None:
    options = KubeOptions(watch_idle=4.0, longest_wait=0.5)
    with closing(store_of(plane, options, wire.server)) as quick:
        picture = Picture(quick)
        wire.drops_replies = True
        made(store, "unheard")
        time.sleep(4.5)
        wire.drops_replies = False
        assert picture.settle(store)
        assert picture.lists == 1


def test_case_16_a_view_that_lags_places_no_pod_twice(ground: Ground) -> None:
    ground.nodes("n0", "n1", cpu="4")
    ground.synced()
    ground.wire.latency = 0.2  # decisions are faster than the watch events of their binds
    for number in range(8):
        ground.pods(f"p{number}")
        ground.plane.step()
    ground.go(ground.all_bound(8))
    ground.wire.heal()
    ground.laws_hold()


def test_case_17_a_gang_waits_for_its_group_and_is_never_bound_in_part(ground: Ground) -> None:
    ground.nodes("n0", cpu="2")
    put(ground.site, PODS, *(member(f"m{number}", "ring") for number in range(3)))
    ground.synced()
    ground.go_for(0.5)
    assert ground.bound() == {}
    put(ground.site, GROUPS, group("ring", 3))
    ground.go_for(0.5)
    assert ground.bound() == {}  # two would fit, three are wanted
    ground.nodes("n1", cpu="1")
    ground.go(ground.all_bound(3))
    ground.laws_hold()


def test_case_18_a_node_that_is_not_seen_yet_is_not_gone(ground: Ground) -> None:
    late = Forgetful(ground.far, lambda event: event.record.name == "n9")
    ground.nodes("n0", cpu="1")
    ground.plane.close()
    ground.plane = ground.new_plane(late)
    ground.synced()
    ground.nodes("n9", cpu="1")
    ground.pods("theirs", schedulerName="other")
    bind = Bind(SPACE, "theirs", uid_of(ground, "theirs"), "n9")
    assert ground.near.bind([bind])[0].outcome is WriteOutcome.OK
    ground.go(lambda: any(unknown_nodes(ground.plane.cluster)))
    ground.go_for(0.5)
    ground.plane.pump._feeds[kinds_of(ground).index(NODE)].list_at = 0.0  # and now it is seen
    ground.go(lambda: "n9" in ground.plane.cluster.nodes.by_name)
    ground.pods("a", "b")
    ground.go(ground.all_bound(2))
    ground.go_for(0.5)
    assert list(ground.bound().values()).count("n9") == 1
    ground.laws_hold(own_state=False)


def kinds_of(ground: Ground) -> list[Kind]:
    return [feed.kind for feed in ground.plane.pump._feeds]


def test_case_19_nothing_is_decided_before_everything_was_listed(ground: Ground) -> None:
    ground.nodes("n0")
    ground.pods("web")
    ground.wire.latency = 0.05
    decided: list[str] = []
    ground.failpoint = lambda name: decided.append(name) if "handed-out" in name else None
    listed: list[tuple[Kind, int]] = []
    inner = ground.far.list

    def watched(kind: Kind, selection: ListOptions = EVERYTHING) -> Listing:
        listed.append((kind, len(decided)))
        return inner(kind, selection)

    ground.far.list = watched  # type: ignore[method-assign]
    ground.go(ground.all_bound(1))
    kinds = {kind for kind, _ in listed}
    assert kinds >= set(kinds_of(ground))
    assert {count for _, count in listed[: len(kinds)]} == {0}
    ground.laws_hold()


def test_case_20_binds_that_are_slow_are_charged_before_they_are_sent(ground: Ground) -> None:
    ground.nodes("n0", "n1", cpu="2")
    ground.synced()
    ground.wire.latency = 0.3
    for number in range(10):  # one by one, so that many decisions fall between bind and echo
        ground.pods(f"p{number}")
        ground.plane.step()
    ground.go(lambda: len(ground.bound()) >= 4)
    ground.wire.heal()
    ground.go_for(1.0)
    assert sorted(ground.bound().values()) == ["n0", "n0", "n1", "n1"]
    ground.laws_hold()
