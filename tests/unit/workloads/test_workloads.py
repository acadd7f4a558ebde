"""The controllers of workloads, on an embedded member with a plane and a kubelet."""

from typing import Any

import msgspec
import pytest

from stretto.api.types.quality import quality_of_service
from stretto.api.wire.kinds import (
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    POD,
    POD_DISRUPTION_BUDGET,
    REPLICA_SET,
    STATEFUL_SET,
    Kind,
)
from stretto.base.clock import ManualClock, parse_timestamp, timestamp
from stretto.federation.settings import FederationSettings
from stretto.sim.fleet.fleet import EmbeddedFleet
from stretto.stores.render import render
from stretto.stores.store import Deletion, Patch
from stretto.testing import make_node
from stretto.workloads.cron import CRON_JOB, latest_time, next_time
from stretto.workloads.deployments import UpdateWindow, update_window

Fields = dict[str, Any]


class World:
    """One member cluster with two nodes."""

    def __init__(self) -> None:
        self.clock = ManualClock(1_000_000.0)
        self.fleet = EmbeddedFleet(self.clock, FederationSettings())
        nodes = [make_node(name, cpu=4) for name in ("n0", "n1")]
        self.store = self.fleet.add_member("alpha", nodes).store

    def create(self, kind: Kind, name: str, **spec: Any) -> None:
        template = {
            "metadata": {"labels": {"app": name}},
            "spec": {
                "containers": [{"name": "main", "image": "v1"}],
                **spec.pop("pod", {}),
            },
        }
        body = {"metadata": {"name": name}, "spec": {"template": template, **spec}}
        self.store.create(kind, [msgspec.json.encode(body)])

    def patch(self, kind: Kind, name: str, **spec: Any) -> None:
        self.store.patch(kind, [Patch("default", name, {"spec": spec})])

    def run(self, seconds: float = 10.0) -> None:
        self.fleet.run_until(self.clock.monotonic() + seconds)

    def all(self, kind: Kind) -> list[Fields]:
        return [msgspec.json.decode(render(each)) for each in self.store.list(kind).records]

    def status(self, kind: Kind) -> Fields:
        status: Fields = self.all(kind)[0].get("status") or {}
        return status


@pytest.fixture
def world() -> World:
    return World()


def test_a_deployment_runs_its_replicas(world: World) -> None:
    world.create(DEPLOYMENT, "web", replicas=3)
    world.run()
    assert world.status(DEPLOYMENT)["availableReplicas"] == 3
    assert {pod["status"]["phase"] for pod in world.all(POD)} == {"Running"}


def test_a_deployment_that_shrinks_deletes_pods(world: World) -> None:
    world.create(DEPLOYMENT, "web", replicas=3)
    world.run()
    world.patch(DEPLOYMENT, "web", replicas=1)
    world.run()
    assert len(world.all(POD)) == 1


def test_a_new_template_replaces_every_pod(world: World) -> None:
    world.create(DEPLOYMENT, "web", replicas=3)
    world.run()
    container = [{"name": "main", "image": "v2"}]
    world.patch(DEPLOYMENT, "web", template={"spec": {"containers": container}})
    world.run()
    assert [pod["spec"]["containers"][0]["image"] for pod in world.all(POD)] == ["v2"] * 3
    assert sorted(each["spec"]["replicas"] for each in world.all(REPLICA_SET)) == [0, 3]


def test_a_deleted_deployment_takes_its_pods_with_it(world: World) -> None:
    world.create(DEPLOYMENT, "web", replicas=2)
    world.run()
    world.store.delete(DEPLOYMENT, [Deletion("default", "web")])
    world.run()
    assert world.all(POD) == []
    assert world.all(REPLICA_SET) == []


def test_the_bounds_of_an_update_are_never_both_zero() -> None:
    strategy = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "10%"}}
    assert update_window({"strategy": strategy}, 5) == UpdateWindow(surge=0, unavailable=1)


def test_percentages_round_up_for_surge_and_down_for_unavailable() -> None:
    assert update_window({}, 6) == UpdateWindow(surge=2, unavailable=1)


def test_a_stateful_set_creates_its_pods_in_order(world: World) -> None:
    world.create(STATEFUL_SET, "db", replicas=3)
    world.run()
    pods = sorted(world.all(POD), key=lambda pod: int(pod["metadata"]["resourceVersion"]))
    assert {pod["metadata"]["name"] for pod in pods} == {"db-0", "db-1", "db-2"}
    assert world.status(STATEFUL_SET)["readyReplicas"] == 3


def test_a_stateful_set_that_shrinks_deletes_the_last_pod(world: World) -> None:
    world.create(STATEFUL_SET, "db", replicas=2)
    world.run()
    world.patch(STATEFUL_SET, "db", replicas=1)
    world.run()
    assert [pod["metadata"]["name"] for pod in world.all(POD)] == ["db-0"]


def test_a_daemon_set_runs_one_pod_on_each_node(world: World) -> None:
    world.create(DAEMON_SET, "log")
    world.run()
    assert sorted(pod["spec"]["nodeName"] for pod in world.all(POD)) == ["n0", "n1"]
    assert world.status(DAEMON_SET)["numberReady"] == 2


def test_a_job_ends_when_its_pods_have_succeeded(world: World) -> None:
    world.create(JOB, "batch", completions=3, parallelism=2, pod={"restartPolicy": "Never"})
    world.run()
    status = world.status(JOB)
    assert status["succeeded"] == 3
    assert [each["type"] for each in status["conditions"]] == ["SuccessCriteriaMet", "Complete"]


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}, "Burstable"),
    ],
)
def test_the_quality_of_service_follows_from_requests_and_limits(
    resources: Fields, expected: str
) -> None:
    assert quality_of_service({"containers": [{"resources": resources}]}) == expected


def conditions(world: World) -> dict[str, str]:
    return {each["type"]: each["reason"] for each in world.status(DEPLOYMENT)["conditions"]}


def test_a_complete_deployment_states_it_in_its_conditions(world: World) -> None:
    world.create(DEPLOYMENT, "web", replicas=2, progressDeadlineSeconds=600)
    world.run()
    expected = {"Available": "MinimumReplicasAvailable", "Progressing": "NewReplicaSetAvailable"}
    assert conditions(world) == expected


def test_a_deployment_that_does_not_advance_exceeds_its_deadline(world: World) -> None:
    nowhere = {"nodeSelector": {"no": "such"}}
    world.create(DEPLOYMENT, "web", replicas=2, progressDeadlineSeconds=5, pod=nowhere)
    world.run(30)
    assert conditions(world)["Progressing"] == "ProgressDeadlineExceeded"


def test_a_template_that_returns_gets_the_greatest_revision(world: World) -> None:
    world.create(DEPLOYMENT, "web", replicas=1)
    world.run()
    first = world.all(DEPLOYMENT)[0]["spec"]["template"]
    container = {"name": "main", "image": "v2"}
    changed = {**first, "spec": {"containers": [container]}}
    for template in (changed, first):
        world.patch(DEPLOYMENT, "web", template=template)
        world.run()
    revision = "deployment.kubernetes.io/revision"
    revisions = [each["metadata"]["annotations"][revision] for each in world.all(REPLICA_SET)]
    assert sorted(revisions) == ["2", "3"]


def test_a_budget_counts_healthy_pods(world: World) -> None:
    world.create(DEPLOYMENT, "web", replicas=3)
    spec = {"minAvailable": "50%", "selector": {"matchLabels": {"app": "web"}}}
    body = {"metadata": {"name": "web"}, "spec": spec}
    world.store.create(POD_DISRUPTION_BUDGET, [msgspec.json.encode(body)])
    world.run()
    status = world.status(POD_DISRUPTION_BUDGET)
    counts = ("expectedPods", "currentHealthy", "desiredHealthy", "disruptionsAllowed")
    assert [status[each] for each in counts] == [3, 3, 2, 1]


def cron_job(world: World, **spec: Any) -> None:
    container = {"name": "main", "image": "v1"}
    job = {"template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}
    fields = {"schedule": "* * * * *", "jobTemplate": {"spec": job}, **spec}
    body = {"metadata": {"name": "tick"}, "spec": fields}
    world.store.create(CRON_JOB, [msgspec.json.encode(body)])


def test_a_cron_job_starts_a_job_at_each_time(world: World) -> None:
    cron_job(world)
    world.run(130)
    assert len(world.all(JOB)) == 2
    assert world.status(CRON_JOB)["lastScheduleTime"].endswith(":00Z")


def test_a_suspended_cron_job_starts_nothing(world: World) -> None:
    cron_job(world, suspend=True)
    world.run(130)
    assert world.all(JOB) == []


@pytest.mark.parametrize(
    ("zone", "expected"), [("Etc/UTC", "2026-09-22T03:00"), ("Asia/Tokyo", "2026-09-21T18:00")]
)
def test_a_schedule_counts_in_its_zone(zone: str, expected: str) -> None:
    moment = parse_timestamp("2026-09-21T14:13:20Z")
    found = next_time({"schedule": "0 3 * * *", "timeZone": zone}, moment)
    assert found is not None
    assert timestamp(found).startswith(expected)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("@hourly", "2026-09-21T15:00:00Z"),
        ("@weekly", "2026-09-27T00:00:00Z"),
        ("@annually", "2027-01-01T00:00:00Z"),
        ("0 4 ? * ?", "2026-09-22T04:00:00Z"),
        ("@every 1h30m", "2026-09-21T15:00:00Z"),
        (",0 4,,5, * * *", "2026-09-22T04:00:00Z"),
    ],
)
def test_a_schedule_by_name_or_interval_has_times(schedule: str, expected: str) -> None:
    moment = parse_timestamp("2026-09-21T14:13:20Z")
    found = next_time({"schedule": schedule}, moment)
    assert found is not None
    assert timestamp(found) == expected


def test_the_latest_time_of_an_interval_includes_the_moment() -> None:
    assert latest_time({"schedule": "@every 90s"}, 180.0) == 180.0
    assert latest_time({"schedule": "@every 90s"}, 179.0) == 90.0
