"""Triggers that schedule a federated object again, and the small part that an object records."""

from dataclasses import replace

import msgspec
import pytest

from stretto.api.types.federation.policies import (
    AutoMigration,
    PropagationPolicySpec,
    ReschedulePolicy,
    RescheduleWhen,
    SchedulingMode,
)
from stretto.federation import names
from stretto.federation.objects.rules import triggers
from stretto.federation.objects.rules.digests import (
    ClusterDigests,
    FleetDigests,
    JoinedCluster,
    digest,
)
from stretto.federation.objects.rules.triggers import TriggerInput, TriggerVerdict

POLICY = PropagationPolicySpec(scheduling_mode=SchedulingMode.DIVIDE)
AGAIN = TriggerVerdict(schedules=True)
NOTHING = TriggerVerdict(schedules=False)


def cluster(number: int, labels: int = 0, taints: int = 0, kinds: int = 0) -> JoinedCluster:
    parts = (digest([number, each]) for each in (labels, taints, kinds))
    return JoinedCluster(
        f"2026-01-01T{number // 60:02}:{number % 60:02}:00Z", ClusterDigests(*parts)
    )


def seen(*clusters: JoinedCluster, policy: PropagationPolicySpec = POLICY) -> TriggerInput:
    content = triggers.content_of(policy)
    return TriggerInput({}, 3, {"cpu": 100}, "plan", policy, content, FleetDigests(clusters))


def compared(before: TriggerInput, after: TriggerInput) -> TriggerVerdict:
    old = triggers.read({names.TRIGGERS: triggers.written(triggers.record(before))})
    return triggers.compare(old, triggers.record(after), after)


def when(**rules: bool) -> PropagationPolicySpec:
    change = RescheduleWhen(**{"policy_content_changed": False, **rules})
    return msgspec.structs.replace(
        POLICY, reschedule_policy=ReschedulePolicy(reschedule_when=change)
    )


FLEET = cluster(0), cluster(1), cluster(2)


@pytest.mark.parametrize(
    "change",
    [
        {"replicas": 4},
        {"request": {"cpu": 200}},
        {"policy_name": "other"},
        {"annotations": {names.MAX_CLUSTERS: "1"}},
        {"clusters": FleetDigests([*FLEET[:2], cluster(2, taints=1)])},
        {"clusters": FleetDigests(FLEET[:2])},
        {"clusters": FleetDigests(FLEET[1:])},
    ],
)
def test_a_change_of_what_a_decision_reads_always_schedules(change: dict[str, object]) -> None:
    assert compared(seen(*FLEET), replace(seen(*FLEET), **change)) == AGAIN  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rule", "reason", "after"),
    [
        ("cluster_joined", "clusterJoined", (*FLEET, cluster(3))),
        ("cluster_labels_changed", "clusterLabelsChanged", (cluster(0, labels=1), *FLEET[1:])),
        (
            "cluster_api_resources_changed",
            "clusterAPIResourcesChanged",
            (cluster(0, kinds=1), *FLEET[1:]),
        ),
    ],
)
def test_other_changes_of_clusters_schedule_where_the_policy_states_it(
    rule: str, reason: str, after: tuple[JoinedCluster, ...]
) -> None:
    on, off = when(**{rule: True}), when()
    assert compared(seen(*FLEET, policy=on), seen(*after, policy=on)) == AGAIN
    deferred = compared(seen(*FLEET, policy=off), seen(*after, policy=off))
    assert deferred == TriggerVerdict(schedules=False, deferred=f"{reason}:false")


def test_nothing_schedules_where_nothing_has_changed() -> None:
    assert compared(seen(*FLEET), seen(*reversed(FLEET))) == NOTHING


def test_only_taints_of_clusters_that_a_decision_has_read_schedule() -> None:
    off, joined = when(), cluster(3)
    old, now = triggers.record(seen(*FLEET, policy=off)), seen(*FLEET, joined, policy=off)
    assert triggers.compare(old, triggers.record(now), now).deferred == "clusterJoined:false"
    new = seen(*FLEET, cluster(3, taints=1), policy=off)
    assert triggers.compare(old, triggers.record(new), new).deferred == "clusterJoined:false"
    known = seen(cluster(0, taints=1), *FLEET[1:], joined, policy=off)
    assert triggers.compare(old, triggers.record(known), known) == AGAIN


STICKY = msgspec.structs.replace(
    POLICY, reschedule_policy=ReschedulePolicy(disable_rescheduling=True)
)
DISABLED = "disableRescheduling:true"


@pytest.mark.parametrize(
    ("after", "verdict"),
    [
        ({"replicas": 4}, TriggerVerdict(schedules=True, deferred=DISABLED)),
        ({"replicas": 4, "annotations": {names.STICKY: "false"}}, AGAIN),
        ({"content": "other"}, TriggerVerdict(schedules=False, deferred=DISABLED)),
        (
            {"clusters": FleetDigests([*FLEET[:2], cluster(2, taints=1)])},
            TriggerVerdict(schedules=False, deferred=DISABLED),
        ),
    ],
)
def test_a_policy_that_disables_rescheduling_gives_the_reason(
    after: dict[str, object], verdict: TriggerVerdict
) -> None:
    before = seen(*FLEET, policy=STICKY)
    assert compared(before, replace(before, **after)) == verdict  # type: ignore[arg-type]


def test_a_policy_that_allows_no_change_of_clusters_defers_taints_too() -> None:
    nothing = msgspec.structs.replace(
        POLICY, reschedule_policy=ReschedulePolicy(reschedule_when=None)
    )
    after = seen(*FLEET[:2], cluster(2, taints=1), policy=nothing)
    verdict = compared(seen(*FLEET, policy=nothing), after)
    assert verdict == TriggerVerdict(schedules=False, deferred="rescheduleWhen:nil")


def test_the_end_of_a_migration_schedules() -> None:
    moves = msgspec.structs.replace(POLICY, auto_migration=AutoMigration())
    before = replace(seen(*FLEET, policy=moves), annotations={names.AUTO_MIGRATION: "{}"})
    assert compared(before, replace(before, annotations={})) == AGAIN
    assert compared(before, seen(*FLEET)) == AGAIN


def test_a_record_of_another_form_schedules() -> None:
    notes = {names.TRIGGERS: '{"schedulingAnnotationsHash":"1","replicaCount":3}'}
    found = seen(*FLEET)
    assert triggers.compare(triggers.read(notes), triggers.record(found), found) == AGAIN


def test_a_record_of_an_earlier_version_schedules_nothing() -> None:
    found = seen(*FLEET, policy=msgspec.structs.replace(when(), auto_migration=AutoMigration()))
    earlier = msgspec.to_builtins(triggers.record(found)) | {"migration": f"{digest('') >> 32:08x}"}
    taints = {"taints": earlier["seen"].pop("taints")}
    earlier["tainted"] = {"until": earlier["seen"]["until"], **taints}
    old = triggers.read({names.TRIGGERS: msgspec.json.encode(earlier).decode()})
    assert triggers.compare(old, triggers.record(found), found) == NOTHING


@pytest.mark.parametrize("count", [1, 500])
def test_a_record_has_at_most_300_bytes_for_any_number_of_clusters(count: int) -> None:
    policy = msgspec.structs.replace(POLICY, auto_migration=AutoMigration())
    found = replace(
        seen(*(cluster(number) for number in range(count)), policy=policy),
        replicas=2**31 - 1,
        policy_name="p" * 253,
        request={f"example.com/{number}": number for number in range(50)},
        annotations={names.PLACEMENTS: "x" * 5000, names.AUTO_MIGRATION: "y" * 5000},
    )
    assert len(triggers.written(triggers.record(found))) <= 300
