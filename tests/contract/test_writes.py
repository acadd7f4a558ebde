"""Creates, updates and patches: versions, conditions, and what survives."""

import json

from stretto.api.edit.patch import PatchType
from stretto.api.wire.kinds import CONFIG_MAP, NODE, POD, POD_DISRUPTION_BUDGET, QUEUE
from stretto.stores.store import Patch, Store, Update, WriteOutcome
from tests.contract import bodies
from tests.contract.shorthand import (
    CONFLICT,
    EXISTS,
    INVALID,
    NOT_FOUND,
    SPACE,
    Desk,
    answer,
    written,
)

OTHER = "00000000-0000-4000-8000-000000000000"


def test_a_created_object_has_a_uid_a_version_and_a_time(desk: Desk) -> None:
    record = desk.pod("web")
    assert (record.kind, record.namespace, record.name) == (POD, SPACE, "web")
    assert record.uid
    assert record.version > 0
    assert record.created.endswith("Z")


def test_a_created_object_is_there(desk: Desk) -> None:
    record = desk.pod("web")
    assert desk.now(record) == record


def test_an_object_that_was_never_made_is_not_there(store: Store) -> None:
    assert store.get(POD, SPACE, "absent") is None


def test_versions_rise_with_every_write_of_any_kind(desk: Desk) -> None:
    pod, node = desk.pod("web"), desk.node("n1")
    patched = written(desk.patch(pod, {"metadata": {"labels": {"a": "b"}}}))
    bound = written(desk.bind(pod, "n1"))
    versions = [pod.version, node.version, patched.version, bound.version]
    assert versions == sorted(set(versions))


def test_uids_differ_between_namesakes_in_time(desk: Desk) -> None:
    first = desk.pod("web")
    written(desk.delete(first))
    assert desk.pod("web").uid != first.uid


def test_a_second_object_of_a_name_exists_already(desk: Desk) -> None:
    first = desk.pod("web")
    again = desk.store.create(POD, [bodies.typed(POD, bodies.pod("web", namespace=SPACE))])[0]
    assert answer(again) == EXISTS
    assert desk.now(first) == first


def test_a_batch_is_answered_in_its_order(desk: Desk) -> None:
    names = ["c", "a", "b"]
    replies = desk.store.create(POD, [_pod(name) for name in names])
    assert [written(reply).name for reply in replies] == names


def test_a_name_twice_in_a_batch_is_taken_once(desk: Desk) -> None:
    replies = desk.store.create(POD, [_pod("web"), _pod("web")])
    assert replies[0].outcome is WriteOutcome.OK
    assert answer(replies[1]) == EXISTS


def test_an_empty_batch_has_no_answers(store: Store) -> None:
    assert store.create(POD, []) == store.bind([]) == store.delete(NODE, []) == []


def test_one_poison_object_fails_alone(desk: Desk) -> None:
    replies = desk.store.create(POD, [_pod("a"), b'{"metadata": ', _pod("b")])
    assert [reply.outcome for reply in replies] == [
        WriteOutcome.OK,
        WriteOutcome.REFUSED,
        WriteOutcome.OK,
    ]
    assert desk.names() == ["a", "b"]


def test_a_malformed_field_is_refused_with_its_path(desk: Desk) -> None:
    body = json.loads(_pod("web"))
    body["metadata"]["labels"] = {"app": 5}
    reply = desk.store.create(POD, [json.dumps(body).encode()])[0]
    assert reply.outcome is WriteOutcome.REFUSED
    assert "labels" in reply.message


def test_a_name_that_is_no_dns_name_is_invalid(desk: Desk) -> None:
    assert answer(desk.store.create(POD, [_pod("Web_1")])[0]) == INVALID


def test_an_object_without_a_name_is_invalid(desk: Desk) -> None:
    assert answer(desk.store.create(POD, [_pod("")])[0]) == INVALID


def test_a_name_is_made_from_its_beginning(desk: Desk) -> None:
    body = bodies.typed(POD, bodies.body(metadata={"generateName": "web-", "namespace": SPACE}))
    spec = json.loads(bodies.pod("x"))["spec"]
    body = json.dumps(json.loads(body) | {"spec": spec}).encode()
    made = [written(reply).name for reply in desk.store.create(POD, [body, body])]
    assert len(set(made)) == 2
    assert all(len(name) == 9 and name[:4] == "web-" for name in made)


def test_a_budget_that_cannot_be_is_invalid(desk: Desk) -> None:
    body = bodies.budget("keep", SPACE, minAvailable=1, maxUnavailable=1)
    body = bodies.typed(POD_DISRUPTION_BUDGET, body)
    assert answer(desk.store.create(POD_DISRUPTION_BUDGET, [body])[0]) == INVALID


def test_cluster_scoped_objects_have_no_namespace(desk: Desk) -> None:
    assert desk.node("n1").namespace == ""


def test_kinds_do_not_share_names(desk: Desk) -> None:
    config = desk.create(CONFIG_MAP, bodies.config("web", namespace=SPACE))
    assert desk.pod("web").uid != config.uid


# ---------------------------------------------------------------- update


def test_an_update_replaces_the_object(desk: Desk) -> None:
    config = desk.create(CONFIG_MAP, bodies.config("web", namespace=SPACE))
    written(desk.update(config, {"data": {"other": "1"}}, config.version))
    assert desk.shown(config)["data"] == {"other": "1"}


def test_an_update_of_an_older_version_is_a_conflict_and_changes_nothing(desk: Desk) -> None:
    config = desk.create(CONFIG_MAP, bodies.config("web", namespace=SPACE))
    newer = written(desk.update(config, {"data": {"a": "1"}}, config.version))
    assert answer(desk.update(config, {"data": {"a": "2"}}, config.version)) == CONFLICT
    assert desk.now(config) == newer


def test_a_conflict_shows_what_is_there_where_it_is_known(desk: Desk) -> None:
    config = desk.create(CONFIG_MAP, bodies.config("web", namespace=SPACE))
    newer = written(desk.update(config, {"data": {"a": "1"}}, config.version))
    assert desk.update(config, {}, config.version).record in (None, newer)


def test_an_update_of_nothing_is_not_found(desk: Desk) -> None:
    body = bodies.typed(CONFIG_MAP, bodies.config("web", namespace=SPACE))
    assert answer(desk.store.update(CONFIG_MAP, [Update(SPACE, "web", body)])[0]) == NOT_FOUND


def test_an_update_cannot_rename(desk: Desk) -> None:
    config = desk.create(CONFIG_MAP, bodies.config("web", namespace=SPACE))
    body = bodies.typed(CONFIG_MAP, bodies.config("db", namespace=SPACE))
    reply = desk.store.update(CONFIG_MAP, [Update(SPACE, config.name, body)])[0]
    assert reply.outcome is WriteOutcome.REFUSED


def test_an_update_keeps_uid_and_creation(desk: Desk) -> None:
    config = desk.create(CONFIG_MAP, bodies.config("web", namespace=SPACE))
    newer = written(desk.update(config, {"data": {}}, config.version))
    assert (newer.uid, newer.created) == (config.uid, config.created)


def test_an_update_leaves_the_status_alone(desk: Desk) -> None:
    pod = desk.running("web")
    written(desk.update(pod, {"status": {"phase": "Failed"}}))
    assert desk.shown(pod)["status"]["phase"] == "Running"


# ---------------------------------------------------------------- patch


def test_a_patch_changes_what_it_names_and_keeps_the_rest(desk: Desk) -> None:
    pod = desk.pod("web", labels={"a": "1", "b": "2"})
    before = desk.shown(pod)
    written(desk.patch(pod, {"metadata": {"labels": {"a": None, "c": "3"}}}))
    after = desk.shown(pod)
    assert after["metadata"]["labels"] == {"b": "2", "c": "3"}
    assert after["spec"] == before["spec"]


def test_a_patch_under_a_wrong_version_is_a_conflict(desk: Desk) -> None:
    pod = desk.pod("web")
    written(desk.patch(pod, {"metadata": {"labels": {"a": "1"}}}))
    reply = desk.patch(pod, {"metadata": {"labels": {"a": "2"}}}, version=pod.version)
    assert answer(reply) == CONFLICT
    assert desk.shown(pod)["metadata"]["labels"] == {"a": "1"}


def test_a_patch_meant_for_another_uid_is_a_conflict(desk: Desk) -> None:
    pod = desk.pod("web")
    reply = desk.patch(pod, {"metadata": {"labels": {"a": "1"}}}, uid=OTHER)
    assert answer(reply) == CONFLICT
    assert desk.now(pod) == pod


def test_a_patch_of_nothing_is_not_found(store: Store) -> None:
    assert answer(store.patch(POD, [Patch(SPACE, "web", {"metadata": {}})])[0]) == NOT_FOUND


def test_a_patch_that_breaks_the_object_is_refused_alone(desk: Desk) -> None:
    a, b = desk.pod("a"), desk.pod("b")
    good, bad = {"metadata": {"labels": {"x": "y"}}}, {"metadata": {"labels": {"x": 5}}}
    changes = [Patch(SPACE, a.name, bad), Patch(SPACE, b.name, good)]
    replies = desk.store.patch(POD, changes)
    assert [reply.outcome for reply in replies] == [WriteOutcome.REFUSED, WriteOutcome.OK]
    assert desk.now(a) == a


def test_a_patch_leaves_the_status_alone(desk: Desk) -> None:
    pod = desk.running("web")
    written(desk.patch(pod, {"metadata": {"labels": {"x": "y"}}, "status": {"phase": "Failed"}}))
    assert desk.shown(pod)["status"]["phase"] == "Running"


def test_a_status_patch_leaves_all_else_alone(desk: Desk) -> None:
    pod = desk.pod("web", labels={"a": "1"})
    change = Patch(
        SPACE, "web", {"status": {"phase": "Running"}, "metadata": {"labels": {"a": "2"}}}
    )
    written(desk.store.patch_status(POD, [change])[0])
    shown = desk.shown(pod)
    assert shown["status"]["phase"] == "Running"
    assert shown["metadata"]["labels"] == {"a": "1"}


def test_a_patch_of_a_pods_status_may_change_its_annotations_too(desk: Desk) -> None:
    pod = desk.pod("web", annotations={"kept": "1", "gone": "1"})
    change = {"metadata": {"annotations": {"new": "1", "gone": None}}}
    written(
        desk.store.patch_status(POD, [Patch(SPACE, "web", change, type=PatchType.STRATEGIC)])[0]
    )
    assert desk.shown(pod)["metadata"]["annotations"] == {"kept": "1", "new": "1"}


def test_a_strategic_patch_merges_conditions_by_their_type(desk: Desk) -> None:
    pod = desk.running("web")
    condition = {"type": "ContainersReady", "status": "True"}
    written(desk.status(pod, {"conditions": [condition]}, type=PatchType.STRATEGIC))
    shown = {each["type"] for each in desk.shown(pod)["status"]["conditions"]}
    assert {"Ready", "ContainersReady"} <= shown
    written(desk.status(pod, {"conditions": [condition]}))
    shown = {each["type"] for each in desk.shown(pod)["status"]["conditions"]}
    assert "Ready" not in shown


def test_a_strategic_patch_of_a_kind_of_a_definition_is_refused(desk: Desk) -> None:
    queue = desk.create(QUEUE, bodies.body(metadata={"name": "root"}, spec={}))
    reply = desk.patch(queue, {"metadata": {"labels": {"a": "1"}}}, type=PatchType.STRATEGIC)
    assert reply.outcome is WriteOutcome.REFUSED
    assert desk.now(queue) == queue


def test_a_patch_of_a_type_that_no_store_takes_is_refused(desk: Desk) -> None:
    pod = desk.pod("web")
    reply = desk.patch(pod, {"metadata": {"labels": {"a": "1"}}}, type=PatchType.JSON)
    assert answer(reply) == INVALID


def test_only_a_bind_gives_a_pod_its_node(desk: Desk) -> None:
    pod = desk.pod("web")
    desk.node("n1")
    assert desk.patch(pod, {"spec": {"nodeName": "n1"}}).outcome is WriteOutcome.REFUSED
    assert desk.update(pod, {"spec": {"nodeName": "n1"}}).outcome is WriteOutcome.REFUSED
    assert desk.now(pod) == pod


def test_the_later_patch_of_a_batch_sees_the_earlier(desk: Desk) -> None:
    pod = desk.pod("web")
    changes = [Patch(SPACE, "web", {"metadata": {"labels": {key: "1"}}}) for key in "ab"]
    first, second = (written(reply) for reply in desk.store.patch(POD, changes))
    assert second.version > first.version
    assert desk.shown(pod)["metadata"]["labels"] == {"a": "1", "b": "1"}


def test_unknown_fields_survive_every_write(desk: Desk) -> None:
    desk.needs("keeps_unknown_fields")
    desk.node("n1")
    body = json.loads(_pod("web"))
    body["spec"]["tomorrow"] = {"deep": [1, {"er": 2.50}], "big": 12345678901234567890}
    pod = written(desk.store.create(POD, [json.dumps(body).encode()])[0])
    written(desk.patch(pod, {"metadata": {"labels": {"a": "1"}}}))
    written(desk.status(pod, {"phase": "Pending"}))
    written(desk.bind(pod, "n1", {"note": "x"}))
    written(desk.update(pod, {}))
    assert desk.shown(pod)["spec"]["tomorrow"] == body["spec"]["tomorrow"]


def test_what_is_shown_has_its_type_and_identity(desk: Desk) -> None:
    queue = desk.create(QUEUE, bodies.body(metadata={"name": "root"}, spec={}))
    shown = desk.shown(queue)
    assert (shown["apiVersion"], shown["kind"]) == (QUEUE.api_version, QUEUE.kind)
    assert shown["metadata"]["uid"] == queue.uid
    assert shown["metadata"]["resourceVersion"] == str(queue.version)
    assert shown["metadata"]["creationTimestamp"] == queue.created


def _pod(name: str) -> bytes:
    return bodies.typed(POD, bodies.pod(name, namespace=SPACE))
