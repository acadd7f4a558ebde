"""Jobs in a local cluster: limits, policies, indexes, suspension and time to live."""

from typing import Any

import pytest

from stretto.workloads.jobs.indexes import as_text, from_text
from tests.unit.web.local.clusters import PODS, Cluster

Json = dict[str, Any]

JOBS = "/apis/batch/v1/namespaces/shop/jobs"
FAILURES = "batch.kubernetes.io/job-index-failure-count"
INDEX = "batch.kubernetes.io/job-completion-index"


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def create(cluster: Cluster, **spec: Any) -> None:
    container = {"name": "c", "image": "i"}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    body = {"metadata": {"name": "job"}, "spec": {"template": template, **spec}}
    assert "uid" in cluster.send("POST", JOBS, body)["metadata"]
    cluster.settle(2.0)


def pods(cluster: Cluster) -> list[Json]:
    found = cluster.send("GET", PODS)["items"]
    return [each for each in found if each["status"]["phase"] not in ("Succeeded", "Failed")]


def end(cluster: Cluster, phase: str, index: int | None = None, code: int = 1) -> None:
    """End one pod, of an index where one is given."""
    waiting = [
        each
        for each in pods(cluster)
        if index is None or each["metadata"]["annotations"][INDEX] == str(index)
    ]
    name = waiting[0]["metadata"]["name"]
    state = {"terminated": {"exitCode": 0 if phase == "Succeeded" else code}}
    status = {"phase": phase, "containerStatuses": [{"name": "c", "state": state}]}
    cluster.send("PATCH", f"{PODS}/{name}/status", {"status": status})
    cluster.settle(2.0)


def status(cluster: Cluster) -> Json:
    return dict(cluster.send("GET", f"{JOBS}/job")["status"])


def reasons(cluster: Cluster) -> dict[str, str]:
    found = status(cluster).get("conditions") or ()
    return {each["type"]: each["reason"] for each in found if each["status"] == "True"}


def test_a_job_without_completions_ends_after_its_last_pod(cluster: Cluster) -> None:
    create(cluster, parallelism=2)
    end(cluster, "Succeeded")
    assert reasons(cluster) == {}
    end(cluster, "Succeeded")
    assert reasons(cluster)["Complete"] == "CompletionsReached"


def test_a_job_fails_beyond_its_limit_of_failures(cluster: Cluster) -> None:
    create(cluster, backoffLimit=1)
    end(cluster, "Failed")
    assert reasons(cluster) == {}
    end(cluster, "Failed")
    assert reasons(cluster)["Failed"] == "BackoffLimitExceeded"


def test_a_job_fails_at_its_deadline_and_its_pods_go(cluster: Cluster) -> None:
    create(cluster, activeDeadlineSeconds=20)
    cluster.settle(30.0)
    assert reasons(cluster)["Failed"] == "DeadlineExceeded"
    assert pods(cluster) == []


def test_a_finished_job_goes_after_its_time_to_live(cluster: Cluster) -> None:
    create(cluster, ttlSecondsAfterFinished=30)
    end(cluster, "Succeeded")
    assert reasons(cluster)["Complete"] == "CompletionsReached"
    cluster.settle(40.0)
    assert cluster.send("GET", f"{JOBS}/job")["reason"] == "NotFound"


def test_a_matching_pod_without_controller_is_adopted(cluster: Cluster) -> None:
    create(cluster)
    (first,) = pods(cluster)
    name = first["metadata"]["name"]
    cluster.send("PATCH", f"{PODS}/{name}", {"metadata": {"ownerReferences": None}})
    cluster.settle(2.0)
    (found,) = pods(cluster)
    assert found["metadata"]["ownerReferences"][0]["kind"] == "Job"


def test_a_job_of_another_controller_stays_as_it_is(cluster: Cluster) -> None:
    create(cluster, managedBy="example.com/queue")
    assert pods(cluster) == []


def test_a_suspended_job_has_no_pods_until_it_is_resumed(cluster: Cluster) -> None:
    create(cluster, suspend=True)
    assert (pods(cluster), reasons(cluster)) == ([], {"Suspended": "JobSuspended"})
    cluster.send("PATCH", f"{JOBS}/job", {"spec": {"suspend": False}})
    cluster.settle(2.0)
    assert (len(pods(cluster)), reasons(cluster)) == (1, {})
    cluster.send("PATCH", f"{JOBS}/job", {"spec": {"suspend": True}})
    cluster.settle(2.0)
    assert (pods(cluster), "startTime" in status(cluster)) == ([], False)


def test_fewer_pods_run_when_the_parallelism_shrinks(cluster: Cluster) -> None:
    create(cluster, parallelism=3, completions=3)
    cluster.send("PATCH", f"{JOBS}/job", {"spec": {"parallelism": 1}})
    cluster.settle(2.0)
    assert len(pods(cluster)) == 1


def test_a_pod_of_an_index_has_it_in_its_name_and_in_a_variable(cluster: Cluster) -> None:
    create(cluster, completions=2, parallelism=2, completionMode="Indexed")
    specs = [each["spec"] for each in pods(cluster)]
    assert sorted(each["hostname"] for each in specs) == ["job-0", "job-1"]
    (variable,) = specs[0]["containers"][0]["env"]
    assert variable["name"] == "JOB_COMPLETION_INDEX"
    assert variable["valueFrom"]["fieldRef"]["fieldPath"] == f"metadata.labels['{INDEX}']"


def test_an_index_is_tried_again_until_it_succeeds(cluster: Cluster) -> None:
    create(cluster, completions=2, parallelism=2, completionMode="Indexed")
    end(cluster, "Failed", 1)
    end(cluster, "Succeeded", 1)
    assert status(cluster)["completedIndexes"] == "1"
    end(cluster, "Succeeded", 0)
    assert (status(cluster)["completedIndexes"], status(cluster)["succeeded"]) == ("0,1", 2)


def test_an_index_beyond_its_own_limit_fails_and_the_others_run(cluster: Cluster) -> None:
    spec = {"completionMode": "Indexed", "backoffLimitPerIndex": 0}
    create(cluster, completions=2, parallelism=2, **spec)
    counts = {each["metadata"]["annotations"][FAILURES] for each in pods(cluster)}
    end(cluster, "Failed", 0)
    assert (counts, status(cluster)["failedIndexes"], reasons(cluster)) == ({"0"}, "0", {})
    end(cluster, "Succeeded", 1)
    assert reasons(cluster)["Failed"] == "FailedIndexes"


def test_a_success_policy_ends_a_job_before_all_indexes_succeed(cluster: Cluster) -> None:
    policy = {"rules": [{"succeededIndexes": "1-2", "succeededCount": 1}]}
    create(cluster, completions=3, parallelism=3, completionMode="Indexed", successPolicy=policy)
    end(cluster, "Succeeded", 0)
    assert reasons(cluster) == {}
    end(cluster, "Succeeded", 2)
    assert reasons(cluster)["Complete"] == "SuccessPolicy"
    assert pods(cluster) == []


def test_an_exit_code_may_fail_the_job_or_not_count(cluster: Cluster) -> None:
    rules = [
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
        {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [7]}},
    ]
    create(cluster, backoffLimit=0, podFailurePolicy={"rules": rules})
    end(cluster, "Failed", code=7)
    assert reasons(cluster) == {}
    end(cluster, "Failed", code=42)
    assert reasons(cluster)["Failed"] == "PodFailurePolicy"


@pytest.mark.parametrize("text", ["", "0", "0,1", "0-2", "1,3-5,8,9", "0,2,4-7"])
def test_sets_of_indexes_are_read_as_they_are_written(text: str) -> None:
    assert as_text(from_text(text, 10)) == text
