import json

import pytest

from stretto.api.wire.kinds import DEPLOYMENT, POD, POD_DISRUPTION_BUDGET, REPLICA_SET
from stretto.base.clock import ManualClock
from stretto.base.errors import InputError, TooOldError
from stretto.base.rng import Rng
from stretto.stores.embedded.drafts import StoreOrigin
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.embedded.table import JournalError, TableDraft
from stretto.stores.store import (
    EventType,
    Eviction,
    Patch,
    Record,
    Reply,
    StatusReason,
    Update,
    WriteOutcome,
)
from tests.contract import bodies
from tests.unit.stores.contents import SPACE, add_nodes, add_pods, done, memory, to


def running(name: str, version: int, body: bytes = b'{"metadata":{},"spec":{}}') -> Record:
    return Record(POD, SPACE, name, f"uid-{name}", version, body, "n1")


# ---------------------------------------------------------------- identity


def test_the_same_seed_gives_the_same_uids_and_another_seed_others() -> None:
    uids = [add_pods(memory(seed=seed), "web")[0].uid for seed in (1, 1, 2)]
    assert uids[0] == uids[1] != uids[2]


def test_a_uid_has_the_form_of_a_uuid() -> None:
    assert [len(part) for part in add_pods(memory(), "web")[0].uid.split("-")] == [8, 4, 4, 4, 12]


def test_a_store_goes_on_from_its_origin() -> None:
    store = MemoryStore(ManualClock(), Rng(1), origin=StoreOrigin("identity-of-24-characters", 500))
    pod = add_pods(store, "web")[0]
    assert pod.version == 501
    assert pod.uid == "identity-of-24-characters0000000001f5"


def test_the_created_time_is_the_clocks() -> None:
    store = MemoryStore(ManualClock(60.0), Rng(1))
    assert add_pods(store, "web")[0].created == "1970-01-01T00:01:00Z"


def test_an_event_of_a_new_pod_carries_its_head() -> None:
    store = memory()
    watch = store.watch(POD, 0)
    store.create(POD, [bodies.pod("web", labels={"a": "b"})])
    head = watch.poll()[0].head
    assert head is not None
    assert head.metadata.name == "web"


@pytest.mark.parametrize("count", [1, 20])
def test_a_pod_that_is_born_terminating_is_being_deleted(count: int) -> None:
    since = "2026-01-01T00:00:00Z"
    mark = f'"deletionTimestamp":"{since}",'
    born = [
        f'{{"metadata":{{{text}"name":"p{i}"}},"spec":{{}}}}'.encode()
        for i, text in enumerate([mark, ""] * count)
    ]
    deleting = [done(reply).deleting for reply in memory().create(POD, born)]
    assert deleting == [since, ""] * count


def test_a_body_is_kept_as_it_came_and_shared_by_the_bind() -> None:
    store = memory()
    add_nodes(store, "n1")
    body = bodies.pod("web")
    pod = done(store.create(POD, [body])[0])
    assert pod.body is body
    assert done(store.bind([to(pod, "n1")])[0]).body is body


def test_a_made_up_name_that_is_taken_is_made_again() -> None:
    body = b'{"metadata":{"generateName":"w-"},"spec":{}}'
    names = {done(reply).name for reply in memory().create(POD, [body] * 5000)}
    assert len(names) == 5000


# ---------------------------------------------------------------- bulk load


def test_seeded_records_are_there_as_they_were_given() -> None:
    store, records = memory(), [running("a", 3), running("b", 9)]
    store.seed(records)
    assert list(store.list(POD).records) == records
    assert store.version == 9


def test_the_next_version_is_above_all_seeded_ones() -> None:
    store = memory()
    store.seed([running("a", 41)])
    assert add_pods(store, "web")[0].version == 42


def test_a_watch_from_before_the_seeding_is_too_old() -> None:
    store = memory()
    watch = store.watch(POD, 0)
    store.seed([running("a", 3)])
    for each in (watch, store.watch(POD, 0)):
        with pytest.raises(TooOldError):
            each.poll()
    assert store.watch(POD, store.list(POD).version).poll() == []


def test_a_name_seeded_twice_is_bad_input() -> None:
    with pytest.raises(InputError, match="each object once"):
        memory().seed([running("a", 1), running("a", 2)])


# ---------------------------------------------------------------- units


def test_a_unit_is_bound_with_all_of_its_pods() -> None:
    store = memory()
    add_nodes(store, "n1", "n2")
    a, b = add_pods(store, "a", "b")
    answers = store.bind_units([[to(a, "n1"), to(b, "n2")]])
    assert [[done(reply).node for reply in unit] for unit in answers] == [["n1", "n2"]]


def test_a_unit_with_one_bad_pod_leaves_no_trace() -> None:
    store = memory()
    add_nodes(store, "n1")
    a, b, c = add_pods(store, "a", "b", "c")
    before, watch = store.version, store.watch(POD, store.version)
    answers = store.bind_units([[to(a, "n1"), to(b, "gone")], [to(c, "n1")]])
    assert [reply.outcome for reply in answers[0]] == [WriteOutcome.CONFLICT, WriteOutcome.REFUSED]
    assert "node gone" in answers[0][0].message
    assert store.get(POD, SPACE, "a") == a
    assert [event.record.name for event in watch.poll()] == ["c"]
    assert store.version == before + 1


def test_a_unit_that_fails_does_not_undo_an_earlier_one() -> None:
    store = memory()
    add_nodes(store, "n1", "n2")
    a, b = add_pods(store, "a", "b")
    answers = store.bind_units([[to(a, "n1")], [to(b, "n1"), to(a, "n2")]])
    assert done(answers[0][0]).node == "n1"
    assert [reply.outcome for reply in answers[1]] == [WriteOutcome.CONFLICT, WriteOutcome.CONFLICT]
    assert store.get(POD, SPACE, "b") == b


def test_a_unit_bound_again_is_fine() -> None:
    store = memory()
    add_nodes(store, "n1")
    unit = [to(pod, "n1") for pod in add_pods(store, "a", "b")]
    store.bind_units([unit])
    assert [done(reply).node for reply in store.bind_units([unit])[0]] == ["n1", "n1"]


# ---------------------------------------------------------------- journal


class FullJournal:
    """Keeps nothing once it is full."""

    def __init__(self) -> None:
        self.full = False
        self.drafts: list[TableDraft] = []

    def write(self, draft: TableDraft) -> None:
        if self.full:
            raise JournalError(Reply(WriteOutcome.REFUSED, StatusReason.NO_SPACE, "full"))
        self.drafts.append(draft)


def test_what_the_journal_refuses_has_not_happened() -> None:
    journal = FullJournal()
    store = MemoryStore(ManualClock(), Rng(1), journal=journal)
    a = add_pods(store, "a")[0]
    watch = store.watch(POD, store.version)
    journal.full = True
    replies = store.create(POD, [bodies.pod("b"), bodies.pod("a")])
    assert [reply.code for reply in replies] == [StatusReason.NO_SPACE, StatusReason.ALREADY_EXISTS]
    assert store.version == a.version
    assert watch.poll() == []
    assert store.get(POD, SPACE, "b") is None


def test_the_journal_is_written_before_the_change_is_visible() -> None:
    seen: list[int] = []

    class Looking(FullJournal):
        def write(self, draft: TableDraft) -> None:
            seen.append(len(store.watch(POD, 0).poll()) + len(store.list(POD).records))

    store = MemoryStore(ManualClock(), Rng(1), journal=Looking())
    add_pods(store, "a")
    assert seen == [0]


def test_a_write_that_changes_nothing_does_not_reach_the_journal() -> None:
    journal = FullJournal()
    store = MemoryStore(ManualClock(), Rng(1), journal=journal)
    add_nodes(store, "n1")
    pod = add_pods(store, "a")[0]
    store.bind([to(pod, "n1")])
    written = len(journal.drafts)
    store.bind([to(pod, "n1"), to(pod, "n2")])
    store.patch_status(POD, [Patch(SPACE, "a", {})])
    assert len(journal.drafts) == written


def test_an_eviction_that_was_not_kept_is_not_counted() -> None:
    journal = FullJournal()
    store = MemoryStore(ManualClock(), Rng(1), journal=journal)
    pod = _bound(store, "a")
    store.create(POD_DISRUPTION_BUDGET, [bodies.budget("keep", SPACE, maxUnavailable=1)])
    journal.full = True
    assert store.evict([Eviction(SPACE, "a", pod.uid)])[0].code is StatusReason.NO_SPACE
    journal.full = False
    done(store.evict([Eviction(SPACE, "a", pod.uid)])[0])


# ---------------------------------------------------------------- budgets


def _bound(store: MemoryStore, name: str, **metadata: object) -> Record:
    if not store.list(POD).records:
        add_nodes(store, "n1")
    body = bodies.pod(name, labels={"app": "web"}, **metadata)
    return done(store.bind([to(done(store.create(POD, [body])[0]), "n1")])[0])


def _evict(store: MemoryStore, pod: Record) -> StatusReason:
    return store.evict([Eviction(SPACE, pod.name, pod.uid)])[0].code


def _owned_by(kind: str, name: str) -> list[dict[str, object]]:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "u", "controller": True}
    return [owner]


def test_an_owner_states_how_many_pods_are_expected() -> None:
    store = memory()
    owner = bodies.body(metadata={"name": "web"}, spec={"replicas": 10})
    store.create(REPLICA_SET, [owner])
    pods = [_bound(store, name, ownerReferences=_owned_by("ReplicaSet", "web")) for name in "abc"]
    store.create(POD_DISRUPTION_BUDGET, [bodies.budget("keep", SPACE, maxUnavailable=8)])
    codes = [_evict(store, pod) for pod in pods]
    assert codes == [
        StatusReason.NONE,
        StatusReason.TOO_MANY_REQUESTS,
        StatusReason.TOO_MANY_REQUESTS,
    ]


def test_an_owner_without_a_count_is_like_none() -> None:
    store = memory()
    store.create(DEPLOYMENT, [bodies.body(metadata={"name": "web"}, spec={"replicas": None})])
    pods = [_bound(store, name, ownerReferences=_owned_by("Deployment", "web")) for name in "ab"]
    store.create(POD_DISRUPTION_BUDGET, [bodies.budget("keep", SPACE, maxUnavailable=1)])
    codes = [_evict(store, pod) for pod in pods]
    assert codes == [StatusReason.NONE, StatusReason.TOO_MANY_REQUESTS]


def test_pods_deleted_otherwise_are_not_expected_any_more() -> None:
    store = memory()
    pods = [_bound(store, name) for name in "abc"]
    store.create(POD_DISRUPTION_BUDGET, [bodies.budget("keep", SPACE, maxUnavailable="50%")])
    done(store.evict([Eviction(SPACE, "a", pods[0].uid)])[0])
    done(store.evict([Eviction(SPACE, "b", pods[1].uid)])[0])
    assert (
        store.evict([Eviction(SPACE, "c", pods[2].uid)])[0].code is StatusReason.TOO_MANY_REQUESTS
    )


def test_an_evicted_pod_is_expected_until_another_takes_its_place() -> None:
    store = memory()
    a, b, c = (_bound(store, name) for name in "abc")
    store.create(POD_DISRUPTION_BUDGET, [bodies.budget("keep", SPACE, maxUnavailable=1)])
    assert [_evict(store, a), _evict(store, b)] == [
        StatusReason.NONE,
        StatusReason.TOO_MANY_REQUESTS,
    ]
    _bound(store, "d")
    assert [_evict(store, b), _evict(store, c)] == [
        StatusReason.NONE,
        StatusReason.TOO_MANY_REQUESTS,
    ]


def test_what_an_evicted_pod_is_owed_is_forgotten_with_the_history() -> None:
    store = memory(history=2)
    a, b = (_bound(store, name) for name in "ab")
    store.create(POD_DISRUPTION_BUDGET, [bodies.budget("keep", SPACE, maxUnavailable=1)])
    assert _evict(store, a) is StatusReason.NONE
    for name in ("c", "d", "e", "f"):
        _bound(store, name)
    assert _evict(store, b) is StatusReason.NONE


def test_counts_are_kept_up_when_the_history_was_too_short() -> None:
    store = memory(history=2)
    pod = _bound(store, "a")
    store.create(POD_DISRUPTION_BUDGET, [bodies.budget("keep", SPACE, minAvailable=2)])
    refused = store.evict([Eviction(SPACE, "a", pod.uid)])[0]
    assert refused.code is StatusReason.TOO_MANY_REQUESTS
    for name in ("b", "c", "d", "e"):
        _bound(store, name)
    done(store.evict([Eviction(SPACE, "a", pod.uid)])[0])


# ---------------------------------------------------------------- edges


def test_a_patch_that_changes_nothing_makes_no_version() -> None:
    store = memory()
    body = b'{"metadata":{"name":"web","labels":{"a":"1"}},"spec":{}}'
    pod = done(store.create(POD, [body])[0])
    same = done(store.patch(POD, [Patch(SPACE, "web", {"metadata": {"labels": {"a": "1"}}})])[0])
    assert same == pod
    assert store.version == pod.version


@pytest.mark.parametrize(
    "patch",
    [
        {"metadata": None},
        {"metadata": 5},
        {"metadata": {"name": "other"}},
        {"metadata": {"labels": "none"}},
        {"spec": {"containers": 5}},
        {"spec": {"x": object()}},
    ],
)
def test_a_patch_that_cannot_be_is_invalid(patch: dict[str, object]) -> None:
    store = memory()
    pod = add_pods(store, "web")[0]
    assert store.patch(POD, [Patch(SPACE, "web", patch)])[0].code is StatusReason.INVALID
    assert store.get(POD, SPACE, "web") == pod


def test_a_body_that_is_too_deep_or_too_long_is_invalid() -> None:
    store = memory()
    deep = b'{"metadata":{"name":"a"},"data":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    long = bodies.pod("b", annotations={"x": "y" * (3 << 20)})
    pods = [deep.replace(b'"data"', b'"spec":{},"data"'), long]
    assert [reply.code for reply in store.create(POD, pods)] == [StatusReason.INVALID] * 2
    assert store.create(DEPLOYMENT, [deep])[0].code is StatusReason.INVALID


def test_an_object_of_another_kind_is_invalid() -> None:
    body = bodies.typed(DEPLOYMENT, bodies.body(metadata={"name": "web"}))
    assert memory().create(REPLICA_SET, [body])[0].code is StatusReason.INVALID


def test_an_update_keeps_the_status_where_the_new_body_has_none() -> None:
    store = memory()
    add_pods(store, "web")
    store.patch_status(POD, [Patch(SPACE, "web", {"status": {"phase": "Running"}})])
    newer = done(store.update(POD, [Update(SPACE, "web", bodies.pod("web"))])[0])
    assert json.loads(newer.body)["status"] == {"phase": "Running"}


def test_an_event_states_what_happened() -> None:
    store = memory()
    watch = store.watch(POD, 0)
    add_pods(store, "web")
    assert watch.poll()[0].type is EventType.ADDED
