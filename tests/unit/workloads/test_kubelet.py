"""Behaviour of simulated containers, by their commands and by annotations."""

import math
from typing import Any

import pytest

from stretto.workloads.kubelet.commands import NEVER, command_ending, ending_of, is_absent
from stretto.workloads.kubelet.course import PodCourse, attempt_at
from stretto.workloads.kubelet.scripts import Ending
from tests.unit.web.local.clusters import PODS, Cluster, pod

JOBS = "/apis/batch/v1/namespaces/shop/jobs"
SHELL = ["/bin/sh", "-c"]


@pytest.mark.parametrize(
    ("words", "ending"),
    [
        (["sleep", "30"], Ending(30.0)),
        (["/bin/sleep", "1m", "2s"], Ending(62.0)),
        (["sleep", ".5", "1."], Ending(1.5)),
        (["sleep", "1.2.3"], None),
        (["sleep", "infinity"], NEVER),
        (["/bin/true"], Ending(0.0)),
        (["/bin/false"], Ending(0.0, 1)),
        (["tail", "-f", "/dev/null"], NEVER),
        ([*SHELL, "exit 7"], Ending(0.0, 7)),
        ([*SHELL, "echo a; sleep 5; exit 3"], Ending(5.0, 3)),
        ([*SHELL, "false && sleep 5"], Ending(0.0, 1)),
        ([*SHELL, "while true; do date; sleep 1; done"], NEVER),
    ],
)
def test_a_known_command_ends_as_it_would(words: list[str], ending: Ending) -> None:
    assert command_ending(words) == ending


@pytest.mark.parametrize("words", [[], ["train.py"], [*SHELL, "if x; then y; fi"], [*SHELL, "'"]])
def test_the_end_of_another_command_is_not_known(words: list[str]) -> None:
    assert command_ending(words) is None


def test_a_container_with_the_pause_image_never_ends() -> None:
    assert ending_of({"image": "registry.k8s.io/pause:3.10"}) == NEVER


@pytest.mark.parametrize("image", ["web:404", "a.io/b/c:non-existent", "does-not-exist"])
def test_an_image_is_absent_by_its_name(image: str) -> None:
    assert (is_absent(image), is_absent("nginx:1.27")) == (True, False)


def test_restarts_wait_longer_each_time_up_to_five_minutes() -> None:
    course = PodCourse(ends_after=1.0, exit_code=1)
    starts = [attempt_at(course, "Always", age).started_at for age in (0, 1, 11.9, 12, 33, 10_000)]
    assert starts[:5] == [0.0, 1.0, 1.0, 12.0, 33.0]
    assert attempt_at(course, "Always", 10_000).next_at - starts[5] == 301.0


def fail_in_job(cluster: Cluster, policy: str, limit: int) -> None:
    """Run a Job whose only command is ``false``."""
    template = {"spec": pod("", "n0")["spec"] | {"restartPolicy": policy}}
    template["spec"]["containers"][0]["command"] = ["false"]
    body = {"metadata": {"name": "j"}, "spec": {"template": template, "backoffLimit": limit}}
    cluster.send("POST", JOBS, body)


def test_a_failing_job_retries_once_a_second(cluster: Cluster) -> None:
    fail_in_job(cluster, "Never", 1000)
    cluster.settle(10.0)
    assert 4 <= len(cluster.send("GET", PODS)["items"]) <= 11


def test_restarts_of_containers_count_against_the_limit_of_a_job(cluster: Cluster) -> None:
    fail_in_job(cluster, "OnFailure", 2)
    cluster.settle(8.0)
    running = cluster.send("GET", f"{JOBS}/j")["status"]
    cluster.settle(20.0)
    ended = cluster.send("GET", f"{JOBS}/j")["status"]
    assert (running["active"], ended["conditions"][-1]["reason"]) == (1, "BackoffLimitExceeded")


def test_an_end_without_a_restart_is_final() -> None:
    course = PodCourse(ends_after=1.0)
    assert attempt_at(course, "OnFailure", 5.0).next_at == math.inf


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(nodes=1)


def run(cluster: Cluster, seconds: float, policy: str = "Always", **metadata: Any) -> Any:
    body = pod("p", "n0", **metadata)
    body["spec"]["restartPolicy"] = policy
    cluster.send("POST", PODS, body)
    cluster.settle(seconds)
    return cluster.send("GET", f"{PODS}/p")["status"]


def test_a_pod_runs_for_its_time_and_ends_with_its_code(cluster: Cluster) -> None:
    notes = {"stretto.dev/duration": "20", "stretto.dev/exit-code": "3"}
    assert run(cluster, 15.0, "Never", annotations=notes)["phase"] == "Running"
    cluster.settle(10.0)
    status = cluster.send("GET", f"{PODS}/p")["status"]
    assert status["phase"] == "Failed"
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3


def test_a_failing_pod_that_always_restarts_is_in_a_crash_loop(cluster: Cluster) -> None:
    status = run(cluster, 8.0, annotations={"stretto.dev/exit-code": "1"})
    (container,) = status["containerStatuses"]
    assert container["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert container["lastState"]["terminated"]["exitCode"] == 1
    assert (status["phase"], container["restartCount"]) == ("Running", 1)


def test_a_pod_whose_image_is_absent_waits_for_it(cluster: Cluster) -> None:
    body = pod("p", "n0")
    body["spec"]["containers"][0]["image"] = "web:nonexistent"
    cluster.send("POST", PODS, body)
    cluster.settle()
    status = cluster.send("GET", f"{PODS}/p")["status"]
    waiting = status["containerStatuses"][0]["state"]["waiting"]
    assert (status["phase"], waiting["reason"]) == ("Pending", "ImagePullBackOff")


def test_a_pod_becomes_ready_after_the_delay_of_its_probe(cluster: Cluster) -> None:
    body = pod("p", "n0")
    probe = {"tcpSocket": {"port": 80}, "initialDelaySeconds": 10}
    body["spec"]["containers"][0]["readinessProbe"] = probe
    cluster.send("POST", PODS, body)
    cluster.settle(6.0)
    before = cluster.send("GET", f"{PODS}/p")["status"]["containerStatuses"][0]["ready"]
    cluster.settle(10.0)
    after = cluster.send("GET", f"{PODS}/p")["status"]["containerStatuses"][0]["ready"]
    assert (before, after) == (False, True)


def pod_with_port(name: str, node: str, **port: Any) -> Any:
    body = pod(name, node)
    body["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8080, **port}]
    return body


@pytest.mark.parametrize(
    ("node", "port", "phase"),
    [
        ("n0", {}, "Failed"),
        ("n0", {"protocol": "UDP"}, "Running"),
        ("n0", {"hostPort": 8081}, "Running"),
        ("n0", {"hostIP": "127.0.0.1"}, "Failed"),
        ("n1", {}, "Running"),
    ],
)
def test_a_pod_whose_port_is_taken_is_rejected(node: str, port: Any, phase: str) -> None:
    cluster = Cluster(2)
    cluster.send("POST", PODS, pod_with_port("first", "n0"))
    cluster.settle(2.0)
    cluster.send("POST", PODS, pod_with_port("second", node, **port))
    cluster.settle(2.0)
    status = cluster.send("GET", f"{PODS}/second")["status"]
    assert (status["phase"], status.get("reason")) == (
        phase,
        "NodePorts" if phase == "Failed" else None,
    )


def test_a_stateful_pod_is_recreated_until_its_port_is_free() -> None:
    cluster = Cluster(1)
    cluster.send("POST", PODS, pod_with_port("holder", "n0"))
    cluster.settle(2.0)
    labels = {"app": "db"}
    template = {"metadata": {"labels": labels}, "spec": pod_with_port("", "n0")["spec"]}
    spec = {"serviceName": "db", "selector": {"matchLabels": labels}, "template": template}
    body = {"metadata": {"name": "db"}, "spec": spec | {"replicas": 1}}
    cluster.send("POST", "/apis/apps/v1/namespaces/shop/statefulsets", body)
    cluster.settle(4.0)
    cluster.send("DELETE", f"{PODS}/holder?gracePeriodSeconds=0")
    cluster.settle(6.0)
    assert cluster.send("GET", f"{PODS}/db-0")["status"]["phase"] == "Running"


def events(cluster: Cluster, name: str) -> list[tuple[Any, ...]]:
    """Reason, type, count and message of the events of kubelets about a pod."""
    found = cluster.send("GET", "/api/v1/namespaces/shop/events")["items"]
    return [
        (each["reason"], each["type"], each["count"], each["message"])
        for each in sorted(found, key=lambda each: int(each["metadata"]["resourceVersion"]))
        if each["source"]["component"] == "kubelet" and each["involvedObject"]["name"] == name
    ]


def test_a_started_container_has_the_events_of_a_kubelet(cluster: Cluster) -> None:
    cluster.send("POST", PODS, pod("web", "n0"))
    cluster.settle(3.0)
    assert events(cluster, "web") == [
        ("Pulled", "Normal", 1, 'Container image "i" already present on machine'),
        ("Created", "Normal", 1, "Created container: c"),
        ("Started", "Normal", 1, "Started container c"),
    ]


def test_an_event_names_the_container_and_the_node(cluster: Cluster) -> None:
    cluster.send("POST", PODS, pod("web", "n0"))
    cluster.settle(3.0)
    found = cluster.send("GET", "/api/v1/namespaces/shop/events")["items"]
    kubelet = next(each for each in found if each["source"]["component"] == "kubelet")
    assert kubelet["involvedObject"]["fieldPath"] == "spec.containers{c}"
    assert (kubelet["source"]["host"], kubelet["reportingInstance"]) == ("n0", "n0")


def test_restarts_are_counted_in_the_events_of_a_container(cluster: Cluster) -> None:
    failing = pod("web", "n0")
    failing["spec"]["containers"][0]["command"] = ["false"]
    cluster.send("POST", PODS, failing)
    cluster.settle(20.0)
    counts = {reason: count for reason, _, count, _ in events(cluster, "web")}
    assert (counts["Started"], counts["Created"], counts["BackOff"]) == (3, 3, 2)


def test_an_image_that_cannot_be_pulled_has_its_events(cluster: Cluster) -> None:
    absent = pod("web", "n0")
    absent["spec"]["containers"][0]["image"] = "web:404"
    cluster.send("POST", PODS, absent)
    cluster.settle(3.0)
    reasons = [reason for reason, _, _, _ in events(cluster, "web")]
    assert reasons == ["Pulling", "Failed", "Failed", "BackOff", "Failed"]


def test_a_deleted_pod_is_reported_as_stopped(cluster: Cluster) -> None:
    cluster.send("POST", PODS, pod("web", "n0"))
    cluster.settle(3.0)
    cluster.send("DELETE", f"{PODS}/web")
    cluster.settle(3.0)
    assert events(cluster, "web")[-1] == ("Killing", "Normal", 1, "Stopping container c")


def test_a_deleted_pod_with_a_finalizer_has_ended(cluster: Cluster) -> None:
    cluster.send("POST", PODS, pod("web", "n0", finalizers=["example.org/keep"]))
    cluster.settle(3.0)
    cluster.send("DELETE", f"{PODS}/web")
    cluster.settle(3.0)
    status = cluster.send("GET", f"{PODS}/web")["status"]
    ready = [each["status"] for each in status["conditions"] if each["type"] == "Ready"]
    assert (status["phase"], ready) == ("Failed", ["False"])


def test_a_probe_that_fails_is_an_event(cluster: Cluster) -> None:
    unready = pod("web", "n0")
    unready["spec"]["containers"][0]["readinessProbe"] = {"exec": {"command": ["false"]}}
    cluster.send("POST", PODS, unready)
    cluster.settle(3.0)
    assert ("Unhealthy", "Warning", 1, "Readiness probe failed: ") in events(cluster, "web")
