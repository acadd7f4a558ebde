"""CronJobs in a local cluster: Jobs at their times, and events about them."""

from typing import Any

from tests.unit.web.local.clusters import Cluster

BATCH = "/apis/batch/v1/namespaces/shop"


def create(**spec: Any) -> Cluster:
    """A cluster with a CronJob, at the first minute after its creation."""
    cluster = Cluster()
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    job = {"spec": {"template": {"spec": pod}}}
    given = {"schedule": "* * * * *", "jobTemplate": job, **spec}
    cluster.send("POST", f"{BATCH}/cronjobs", {"metadata": {"name": "tick"}, "spec": given})
    cluster.settle(65.0)
    return cluster


def names(cluster: Cluster) -> list[str]:
    return [each["metadata"]["name"] for each in cluster.send("GET", f"{BATCH}/jobs")["items"]]


def reasons(cluster: Cluster) -> set[str]:
    found = cluster.send("GET", "/api/v1/namespaces/shop/events")["items"]
    return {each["reason"] for each in found if each["involvedObject"]["kind"] == "CronJob"}


def test_a_running_job_that_is_deleted_leaves_the_list_and_is_an_event() -> None:
    cluster = create(concurrencyPolicy="Forbid")
    (name,) = names(cluster)
    cluster.send("DELETE", f"{BATCH}/jobs/{name}?propagationPolicy=Background")
    cluster.settle()
    assert "active" not in cluster.send("GET", f"{BATCH}/cronjobs/tick")["status"]
    assert reasons(cluster) == {"SuccessfulCreate", "MissingJob"}


def test_a_job_that_is_replaced_is_not_missing() -> None:
    cluster = create(concurrencyPolicy="Replace")
    (first,) = names(cluster)
    cluster.settle(60.0)
    (second,) = names(cluster)
    assert (first != second, reasons(cluster)) == (
        True,
        {"SuccessfulCreate", "SuccessfulDelete"},
    )
