"""For any delivery of events (doubled, stale, in lists) the cluster equals the last list."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.api.wire.kinds import NODE, POD, Kind
from stretto.base.clock import ManualClock
from stretto.base.errors import TooOldError
from stretto.base.rng import Rng
from stretto.control.pump import Pump
from stretto.state.classes import table as classes_module
from stretto.state.cluster.cluster import Cluster
from stretto.state.queries.invariants import check_all
from stretto.stores.capabilities import Capabilities
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import (
    EVERYTHING,
    Bind,
    Deletion,
    ListOptions,
    Patch,
    Update,
    Watch,
    WatchEvent,
)
from stretto.testing import make_node, make_pod
from tests.support.hand_fed_cluster import portrait

FORMS = [
    {"cpu": "1"},
    {"cpu": "2", "ports": [80]},
    {"gpus": 1, "gpu_milli": 500},
    {"gpus": 2, "priority": 7},
    {"gpus": 1, "gpu_milli": "none"},
    {"scheduler": "other"},
    {"resources": {"x.io/a": "3"}},
]
NODES = [
    {"cpu": "4", "gpus": 2, "model": "A"},
    {"cpu": "8", "gpus": 4, "model": "B", "zone": "z"},
    {"cpu": "1", "labels": {"a": "b"}, "unschedulable": True},
    {"cpu": "-3"},
]

MOVES = ["pod", "drop", "bind", "finish", "resize", "tell", "node", "lose", "change", "poll", "cut"]

moves = st.lists(
    st.tuples(
        st.sampled_from(MOVES),
        st.integers(0, 5),
        st.integers(0, 6),
    ),
    max_size=50,
)
bends = st.lists(st.sampled_from(["as it is", "double", "stale", "late"]), max_size=20)


class BentWatch:
    """A watch with altered batches: nothing is lost, many events are repeated."""

    def __init__(self, inner: Watch, next_bend: Callable[[], str]) -> None:
        self.inner, self.next_bend, self.cut = inner, next_bend, False
        self.past: list[WatchEvent] = []
        self.late: list[WatchEvent] = []

    def poll(self, limit: int = 4096) -> list[WatchEvent]:
        if self.cut:
            raise TooOldError("1", "2")
        events, self.late = [*self.late, *self.inner.poll(limit)], []
        bend = self.next_bend()
        if bend == "double":
            events = [event for event in events for _ in range(2)]
        elif bend == "stale":
            events = [*self.past, *events]
        elif bend == "late":
            half = len(events) // 2
            events, self.late = events[:half], events[half:]
        self.past += events
        return events

    def close(self) -> None:
        self.inner.close()


class BentStore(MemoryStore):
    """A memory store whose watches are bent."""

    capabilities = Capabilities(notifies=False)

    def __init__(self, script: Sequence[str]) -> None:
        super().__init__(ManualClock(), Rng(0))
        self.script, self.bent = list(script), list[BentWatch]()

    def watch(self, kind: Kind, since: int, selection: ListOptions = EVERYTHING) -> Watch:
        bend = lambda: self.script.pop() if self.script else "as it is"
        self.bent.append(BentWatch(super().watch(kind, since, selection), bend))
        return self.bent[-1]

    def play(self, move: str, name: int, form: int) -> None:
        pod, node = f"p{name}", f"n{name % 3}"
        if move == "pod":
            self.create(POD, [make_pod(pod, **FORMS[form])])
        elif move == "drop":
            self.delete(POD, [Deletion("default", pod)])
        elif move == "bind" and (record := self.get(POD, "default", pod)):
            self.bind([Bind("default", pod, record.uid, f"n{form % 3}")])
        elif move == "finish":
            self.patch_status(POD, [Patch("default", pod, {"status": {"phase": "Succeeded"}})])
        elif move == "resize":
            self.patch(POD, [Patch("default", pod, {"spec": {"overhead": {"cpu": f"{form}"}}})])
        elif move == "tell":
            amounts = {"cpu": f"{form}", "memory": "128Mi"}
            status = {"containerStatuses": [{"name": "main", "resources": {"requests": amounts}}]}
            self.patch_status(POD, [Patch("default", pod, {"status": status})])
        elif move == "node":
            self.create(NODE, [make_node(node, **NODES[form % 4])])
        elif move == "lose":
            self.delete(NODE, [Deletion("", node)])
        elif move == "change":
            self.update(NODE, [Update("", node, make_node(node, **NODES[form % 4]))])
        elif move == "cut":
            for watch in self.bent:
                watch.cut = True


def followed(store: BentStore, script: Sequence[tuple[str, int, int]]) -> Cluster:
    """A cluster that saw everything as it came."""
    cluster = Cluster()
    pump = Pump(store, cluster)
    for move, name, form in script:
        store.play(move, name, form)
        if move == "poll":
            pump.poll(0.0)
    for _ in range(8):
        pump.poll(0.0)
    return cluster


def listed(store: BentStore) -> Cluster:
    """A cluster that saw the last list alone."""
    cluster = Cluster()
    Pump(store, cluster).poll(0.0)
    return cluster


@given(moves, bends)
def test_any_way_of_hearing_ends_where_the_list_does(
    script: list[tuple[str, int, int]], bent: list[str]
) -> None:
    store = BentStore(bent)
    assert portrait(followed(store, script)) == portrait(listed(store))


@given(moves, bends)
def test_the_ledger_is_consistent_after_any_events(
    script: list[tuple[str, int, int]], bent: list[str]
) -> None:
    cluster = followed(BentStore(bent), script)
    assert check_all(cluster) == []
    users = [0] * len(cluster.classes)
    for row in cluster.pods.rows():
        users[cluster.pods.class_id[row]] += 1
    assert cluster.classes.users == users


@given(moves, bends)
def test_few_kept_classes_make_no_difference(
    script: list[tuple[str, int, int]], bent: list[str]
) -> None:
    store = BentStore(bent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(classes_module, "CLASS_LIMIT", 1)
        patch.setattr(classes_module, "BYTES_LIMIT", 2)
        cluster = followed(store, script)
    assert portrait(cluster) == portrait(listed(store))
