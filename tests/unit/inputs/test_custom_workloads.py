"""Custom workloads: the pods and the gangs of each family of kinds."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from stretto.base.errors import InputError
from tests.support.loaded_input import SPEC, TEMPLATE, Loaded, made, pod


@pytest.mark.parametrize(
    ("kind", "member"),
    [("PyTorchJob", "pytorch"), ("TFJob", "tf"), ("MPIJob", "mpi"), ("XGBoostJob", "xgb"),
     ("JAXJob", "jax"), ("PaddleJob", "paddle")],
)  # fmt: skip
def test_a_job_of_kubeflow_is_one_gang(tmp_path: Path, kind: str, member: str) -> None:
    replicas = {"Master": {"template": TEMPLATE}, "Worker": {"replicas": 3, "template": TEMPLATE}}
    spec = {f"{member}ReplicaSpecs": replicas}
    loaded = Loaded(tmp_path, made("kubeflow.org/v1", kind, spec))
    assert loaded.gangs == {"job": 4}
    assert loaded.members == {"job": 4}
    assert loaded.names == ["job-master-0", "job-worker-0", "job-worker-1", "job-worker-2"]


def test_a_job_of_kubeflow_may_start_with_fewer_pods(tmp_path: Path) -> None:
    spec = {
        "pytorchReplicaSpecs": {"Worker": {"replicas": 4, "template": TEMPLATE}},
        "runPolicy": {"schedulingPolicy": {"minAvailable": 2}},
    }
    assert Loaded(tmp_path, made("kubeflow.org/v1", "PyTorchJob", spec)).gangs == {"job": 2}


def test_a_train_job_has_the_pods_of_its_runtime(tmp_path: Path) -> None:
    node = {**TEMPLATE, "spec": {"containers": [{"name": "node", "image": "x"}]}}
    jobs = [{"name": "node", "template": {"spec": {"template": node}}}]
    runtime = made(
        "trainer.kubeflow.org/v1alpha1",
        "ClusterTrainingRuntime",
        {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": jobs}}},
        name="torch",
    )
    requested = {"numNodes": 3, "resourcesPerNode": {"requests": {"cpu": "2"}}}
    spec = {"runtimeRef": {"name": "torch"}, "trainer": requested}
    job = made("trainer.kubeflow.org/v1alpha1", "TrainJob", spec)
    loaded = Loaded(tmp_path, runtime, job)
    assert loaded.gangs == {"job": 3}
    assert loaded.pods[0]["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "2"}}
    (line,) = Loaded(tmp_path, job).skipped.lines()
    assert "unsupported: its ClusterTrainingRuntime torch is not in the input" in line


JOBS = [
    {"name": "a", "replicas": 2, "template": {"spec": {"parallelism": 2, "template": TEMPLATE}}},
    {"name": "b", "template": {"spec": {"template": TEMPLATE}}},
]


def test_a_job_set_has_the_pods_of_all_its_jobs(tmp_path: Path) -> None:
    loaded = Loaded(tmp_path, made("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": JOBS}))
    assert loaded.names == ["job-a-0-0", "job-a-0-1", "job-a-1-0", "job-a-1-1", "job-b-0-0"]
    assert loaded.gangs == {}
    labels = loaded.pods[0]["metadata"]["labels"]
    assert (labels["app"], labels["jobset.sigs.k8s.io/jobset-name"]) == ("x", "job")


def test_a_job_set_of_kueue_is_a_gang(tmp_path: Path) -> None:
    labels = {"kueue.x-k8s.io/queue-name": "team"}
    spec = {"replicatedJobs": JOBS, "suspend": True}
    item = made("jobset.x-k8s.io/v1alpha2", "JobSet", spec, labels=labels)
    assert Loaded(tmp_path, item).gangs == {"job": 5}


def test_exclusive_jobs_of_a_job_set_repel_each_other(tmp_path: Path) -> None:
    notes = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}
    spec = {"replicatedJobs": JOBS}
    loaded = Loaded(tmp_path, made("jobset.x-k8s.io/v1alpha2", "JobSet", spec, annotations=notes))
    affinity = loaded.pods[0]["spec"]["affinity"]
    assert set(affinity) == {"podAffinity", "podAntiAffinity"}
    (term,) = affinity["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["topologyKey"] == "rack"
    assert term["labelSelector"]["matchExpressions"][0]["values"] == ["job-a-0"]


def test_a_job_of_kueue_is_a_gang_also_while_suspended(tmp_path: Path) -> None:
    labels = {"kueue.x-k8s.io/queue-name": "team"}
    spec = {"parallelism": 3, "suspend": True, "template": TEMPLATE}
    assert Loaded(tmp_path, made("batch/v1", "Job", spec, labels=labels)).members == {"job": 3}


def test_each_group_of_a_leader_worker_set_is_a_gang(tmp_path: Path) -> None:
    spec = {"replicas": 2, "leaderWorkerTemplate": {"size": 3, "workerTemplate": TEMPLATE}}
    loaded = Loaded(tmp_path, made("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec))
    assert loaded.gangs == {"job-0": 3, "job-1": 3}
    assert loaded.members == {"job-0": 3, "job-1": 3}


def test_a_job_of_volcano_needs_its_least_number_of_pods(tmp_path: Path) -> None:
    tasks = [
        {"name": "ps", "replicas": 1, "template": TEMPLATE},
        {"name": "work", "replicas": 4, "template": TEMPLATE},
    ]
    item = made("batch.volcano.sh/v1alpha1", "Job", {"minAvailable": 3, "tasks": tasks})
    assert Loaded(tmp_path, item).gangs == {"job": 3}
    item["spec"].pop("minAvailable")
    assert Loaded(tmp_path, item).gangs == {"job": 5}


RAY = {
    "headGroupSpec": {"template": TEMPLATE},
    "workerGroupSpecs": [
        {"groupName": "gpu", "replicas": 2, "numOfHosts": 2, "template": TEMPLATE}
    ],
}


def test_a_cluster_of_ray_is_a_head_and_its_workers(tmp_path: Path) -> None:
    loaded = Loaded(tmp_path, made("ray.io/v1", "RayCluster", RAY))
    assert loaded.names == ["job-head-0", *(f"job-gpu-worker-{number}" for number in range(4))]
    assert loaded.gangs == {}
    labels = {"ray.io/gang-scheduling-enabled": "true"}
    assert Loaded(tmp_path, made("ray.io/v1", "RayCluster", RAY, labels=labels)).gangs == {"job": 5}


@pytest.mark.parametrize(
    ("version", "kind", "spec"),
    [
        ("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": JOBS}),
        ("batch.volcano.sh/v1alpha1", "Job", {"tasks": [{"name": "w", "template": TEMPLATE}]}),
        ("ray.io/v1", "RayCluster", RAY),
    ],
)
def test_an_unknown_field_of_a_pod_template_is_refused(
    tmp_path: Path, version: str, kind: str, spec: dict[str, Any]
) -> None:
    wrong = yaml.safe_dump(spec, default_flow_style=False).replace("image:", "imge:")
    with pytest.raises(InputError, match=r"containers\[0\].imge: unknown field"):
        Loaded(tmp_path, made(version, kind, yaml.safe_load(wrong)))


def test_a_head_of_ray_has_the_autoscaler_beside_it(tmp_path: Path) -> None:
    wanted = {"cpu": "2", "memory": "1Gi"}
    spec = {"enableInTreeAutoscaling": True, **RAY}
    head = Loaded(tmp_path, made("ray.io/v1", "RayCluster", spec)).pods[0]["spec"]
    assert head["containers"][1]["resources"]["requests"] == {"cpu": "500m", "memory": "512Mi"}
    options = {"autoscalerOptions": {"resources": {"requests": wanted}}}
    head = Loaded(tmp_path, made("ray.io/v1", "RayCluster", spec | options)).pods[0]["spec"]
    assert head["containers"][1]["resources"]["requests"] == wanted


@pytest.mark.parametrize("field", ["autoscalerOptions", "authOptions"])
def test_options_of_ray_that_are_no_object_are_refused(tmp_path: Path, field: str) -> None:
    spec = {"enableInTreeAutoscaling": True, **RAY, field: "on"}
    with pytest.raises(InputError, match=rf"spec\.{field}: got 'on', expected an object"):
        Loaded(tmp_path, made("ray.io/v1", "RayCluster", spec))


def test_containers_of_ray_that_are_no_list_are_refused(tmp_path: Path) -> None:
    head = {"headGroupSpec": {"template": {"spec": {"containers": 5}}}}
    spec = {"enableInTreeAutoscaling": True, **head}
    with pytest.raises(InputError, match=r"spec\.containers: got 5, expected a list of objects"):
        Loaded(tmp_path, made("ray.io/v1", "RayCluster", spec))


def test_a_worker_of_ray_waits_for_its_head_in_an_init_container(tmp_path: Path) -> None:
    worker = Loaded(tmp_path, made("ray.io/v1", "RayCluster", RAY)).pods[1]["spec"]
    assert worker["initContainers"][0]["resources"]["requests"] == {
        "cpu": "200m",
        "memory": "256Mi",
    }


def test_pods_of_ray_may_mount_the_volume_of_their_token(tmp_path: Path) -> None:
    mounts = [{"name": "ray-token", "mountPath": "/token"}]
    spec = {"containers": [{**SPEC["containers"][0], "volumeMounts": mounts}]}
    cluster = {"headGroupSpec": {"template": {"spec": spec}}}
    auth = {"authOptions": {"enableK8sTokenAuth": True}, **cluster}
    assert len(Loaded(tmp_path, made("ray.io/v1", "RayCluster", auth)).pods) == 1
    with pytest.raises(InputError, match="ray-token"):
        Loaded(tmp_path, made("ray.io/v1", "RayCluster", cluster))


def test_a_job_of_ray_has_a_submitter(tmp_path: Path) -> None:
    assert len(Loaded(tmp_path, made("ray.io/v1", "RayJob", {"rayClusterSpec": RAY})).pods) == 6
    spec = {"rayClusterSpec": RAY, "submissionMode": "HTTPMode"}
    assert len(Loaded(tmp_path, made("ray.io/v1", "RayJob", spec)).pods) == 5
    spec = {"clusterSelector": {"ray.io/cluster": "other"}}
    (line,) = Loaded(tmp_path, made("ray.io/v1", "RayJob", spec)).skipped.lines()
    assert "existing cluster" in line


def test_a_service_of_ray_is_its_cluster(tmp_path: Path) -> None:
    assert (
        len(Loaded(tmp_path, made("ray.io/v1", "RayService", {"rayClusterConfig": RAY})).pods) == 5
    )


def test_an_application_of_spark_is_a_driver_and_executors(tmp_path: Path) -> None:
    spec = {
        "type": "Scala",
        "driver": {"cores": 1, "memory": "512m"},
        "executor": {"instances": 2, "cores": 2, "memory": "8g", "memoryOverhead": "1g"},
    }
    loaded = Loaded(tmp_path, made("sparkoperator.k8s.io/v1beta2", "SparkApplication", spec))
    assert loaded.names == ["job-driver-0", "job-exec-0", "job-exec-1"]
    requests = [each["spec"]["containers"][0]["resources"]["requests"] for each in loaded.pods]
    assert requests[0] == {"cpu": "1", "memory": "896Mi"}
    assert requests[1] == {"cpu": "2", "memory": "9216Mi"}


def test_a_rollout_is_its_pods(tmp_path: Path) -> None:
    item = made("argoproj.io/v1alpha1", "Rollout", {"replicas": 2, "template": TEMPLATE})
    assert len(Loaded(tmp_path, item).pods) == 2


STEP = {"name": "step", "container": {"image": "x"}}


def workflow(main: dict[str, Any]) -> dict[str, Any]:
    spec = {"entrypoint": "main", "templates": [{"name": "main", **main}, STEP]}
    return made("argoproj.io/v1alpha1", "Workflow", spec)


@pytest.mark.parametrize(
    ("main", "pods"),
    [
        ({"container": {"image": "x"}}, 1),
        ({"steps": [[{"name": "a", "template": "step"}, {"name": "b", "template": "step"}],
                    [{"name": "c", "template": "step"}]]}, 2),
        ({"steps": [[{"name": "a", "template": "step", "withItems": [1, 2, 3]}]]}, 3),
        ({"dag": {"tasks": [{"name": "a", "template": "step"},
                            {"name": "b", "template": "step", "dependencies": ["a"]},
                            {"name": "c", "template": "step"}]}}, 2),
    ],
)  # fmt: skip
def test_a_workflow_is_the_pods_that_start_first(
    tmp_path: Path, main: dict[str, Any], pods: int
) -> None:
    assert len(Loaded(tmp_path, workflow(main)).pods) == pods


@pytest.mark.parametrize(
    "main",
    [
        {"steps": [[{"name": "a", "template": "step", "withParam": "{{x}}"}]]},
        {"steps": [[{"name": "a", "template": "main"}]]},
        {"steps": [[{"name": "a", "template": "gone"}]]},
        {"resource": {"action": "create"}},
    ],
)
def test_a_workflow_without_known_pods_is_unsupported(tmp_path: Path, main: dict[str, Any]) -> None:
    loaded = Loaded(tmp_path, workflow(main))
    assert loaded.pods == []
    assert "1 Workflow of argoproj.io/v1alpha1 (unsupported: " in loaded.skipped.lines()[0]


def test_a_malformed_workload_is_refused_with_its_field(tmp_path: Path) -> None:
    spec = {"pytorchReplicaSpecs": {"Worker": {"replicas": "many", "template": TEMPLATE}}}
    with pytest.raises(InputError, match=r"Worker\.replicas: got 'many', expected a number of pod"):
        Loaded(tmp_path, made("kubeflow.org/v1", "PyTorchJob", spec))
    spec = {"replicas": 1, "template": {"spec": {"containers": [{"name": 7}]}}}
    with pytest.raises(InputError, match=r"containers\[0\]\.name: got 7"):
        Loaded(tmp_path, made("argoproj.io/v1alpha1", "Rollout", spec))


def test_scheduled_workloads_are_skipped(tmp_path: Path) -> None:
    item = made("sparkoperator.k8s.io/v1beta2", "ScheduledSparkApplication", {"schedule": "@daily"})
    (line,) = Loaded(tmp_path, item).skipped.lines()
    assert "at the times of its schedule" in line


# ---------------------------------------------------------------- gangs


FOREIGN = [
    ("scheduling.x-k8s.io/v1alpha1", "labels", "scheduling.x-k8s.io/pod-group"),
    ("scheduling.sigs.k8s.io/v1alpha1", "labels", "pod-group.scheduling.sigs.k8s.io"),
    ("scheduling.volcano.sh/v1beta1", "annotations", "scheduling.k8s.io/group-name"),
]


@pytest.mark.parametrize(("version", "part", "key"), FOREIGN)
def test_a_pod_group_of_another_scheduler_forms_a_gang(
    tmp_path: Path, version: str, part: str, key: str
) -> None:
    group = made(version, "PodGroup", {"minMember": 2}, name="team")
    pods = [pod(name, **{part: {key: "team"}}) for name in "abc"]
    loaded = Loaded(tmp_path, group, *pods)
    assert (loaded.gangs, loaded.members) == ({"team": 2}, {"team": 3})


@pytest.mark.parametrize(("version", "part", "key"), FOREIGN)
def test_a_gang_without_its_pod_group_is_refused(
    tmp_path: Path, version: str, part: str, key: str
) -> None:
    with pytest.raises(InputError, match="Pod default/a: its gang team: got nothing, expected the"):
        Loaded(tmp_path, pod("a", **{part: {key: "team"}}))


KUEUE = "kueue.x-k8s.io/pod-group-"
KOORDINATOR = "gang.scheduling.koordinator.sh/"
TASKS = '[{"name": "a", "minMember": 1}, {"name": "b", "minMember": 2}]'


@pytest.mark.parametrize(
    ("labels", "notes", "least"),
    [
        ({f"{KUEUE}name": "team"}, {f"{KUEUE}total-count": "3"}, 3),
        ({}, {f"{KOORDINATOR}name": "team", f"{KOORDINATOR}min-available": "2"}, 2),
        ({"pod-group.scheduling.sigs.k8s.io/name": "team",
          "pod-group.scheduling.sigs.k8s.io/min-available": "2"}, {}, 2),
        ({"applicationId": "team"}, {"yunikorn.apache.org/task-groups": TASKS,
                                     "yunikorn.apache.org/task-group-name": "a"}, 3),
    ],
)  # fmt: skip
def test_pods_that_name_the_size_of_their_gang_form_it(
    tmp_path: Path, labels: dict[str, str], notes: dict[str, str], least: int
) -> None:
    loaded = Loaded(tmp_path, *(pod(name, labels=labels, annotations=notes) for name in "abc"))
    assert (loaded.gangs, loaded.members) == ({"team": least}, {"team": 3})


def test_the_template_of_a_controller_may_name_a_gang(tmp_path: Path) -> None:
    group = made("scheduling.x-k8s.io/v1alpha1", "PodGroup", {"minMember": 2}, name="team")
    labels = {"app": "x", "scheduling.x-k8s.io/pod-group": "team"}
    template = {"metadata": {"labels": labels}, "spec": SPEC}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "x"}}, "template": template}
    assert Loaded(tmp_path, group, made("apps/v1", "Deployment", spec)).members == {"team": 2}


@pytest.mark.parametrize(
    ("notes", "said"),
    [
        ({"example.org/pod-group": "x"}, "a gang mark that Stretto supports"),
        ({f"{KOORDINATOR}name": "x", f"{KOORDINATOR}groups": "[]"}, "a gang mark that Stretto"),
        ({f"{KOORDINATOR}name": "x", f"{KOORDINATOR}mode": "NonStrict"}, "a gang mark that"),
        ({f"{KOORDINATOR}name": "x", f"{KOORDINATOR}min-available": "many"}, "a number of 1"),
        ({f"{KUEUE}total-count": "3"}, "the name of its gang"),
        ({f"{KUEUE}name": "x", f"{KOORDINATOR}name": "x"}, "the gang marks of one scheduler"),
        ({"applicationId": "x", "yunikorn.apache.org/task-groups": "{"}, "a JSON list of task"),
    ],
)  # fmt: skip
def test_a_gang_mark_that_is_not_understood_is_refused(
    tmp_path: Path, notes: dict[str, str], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        Loaded(tmp_path, pod("a", annotations=notes))


def test_pods_of_one_gang_agree_about_its_size(tmp_path: Path) -> None:
    first, second = (
        pod(name, labels={f"{KUEUE}name": "x"}, annotations={f"{KUEUE}total-count": str(count)})
        for name, count in (("a", 2), ("b", 3))
    )
    with pytest.raises(InputError, match="expected 2, as in another pod of the gang"):
        Loaded(tmp_path, first, second)


def test_an_application_of_yunikorn_without_task_groups_is_no_gang(tmp_path: Path) -> None:
    assert Loaded(tmp_path, pod("a", labels={"applicationId": "x"})).gangs == {}


def test_a_gang_with_too_few_pods_is_refused(tmp_path: Path) -> None:
    marks = {"labels": {f"{KUEUE}name": "x"}, "annotations": {f"{KUEUE}total-count": "2"}}
    with pytest.raises(InputError, match=r"spec\.minMember: got 2, expected 1\.\.1"):
        Loaded(tmp_path, pod("a", **marks))


def claim(name: str) -> dict[str, Any]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"metadata": {"name": name}, "spec": spec}


def mounting(*names: str) -> dict[str, Any]:
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in names]
    return {"name": "c", "image": "x", "volumeMounts": mounts}


def claims_of(pod: dict[str, Any]) -> list[str]:
    volumes = pod["spec"].get("volumes", [])
    return [v["persistentVolumeClaim"]["claimName"] for v in volumes if len(v) > 1]


def test_the_pods_of_a_workflow_share_its_pvcs(tmp_path: Path) -> None:
    main = {"container": mounting("work"), "sidecars": [mounting("work")]}
    item = workflow(
        {"steps": [[{"name": "a", "template": "one"}, {"name": "b", "template": "one"}]]}
    )
    item["spec"]["templates"].append({"name": "one", **main})
    item["spec"]["volumeClaimTemplates"] = [claim("work"), claim("unused")]
    loaded = Loaded(tmp_path, item)
    assert [claims_of(pod) for pod in loaded.pods] == [["job-work"], ["job-work"]]
    assert loaded.others == ["PersistentVolumeClaim"]


def test_a_container_of_a_workflow_gets_the_volumes_that_it_mounts(tmp_path: Path) -> None:
    item = workflow({"container": mounting("a"), "volumes": [{"name": "a", "emptyDir": {}}]})
    item["spec"]["volumes"] = [{"name": "b", "emptyDir": {}}]
    (pod,) = Loaded(tmp_path, item).pods
    assert [each["name"] for each in pod["spec"]["volumes"]] == ["a"]


def test_a_patch_of_a_workflow_changes_its_pods(tmp_path: Path) -> None:
    item = workflow({"container": {"image": "x"}})
    item["spec"]["podSpecPatch"] = (
        "containers: [{name: main, resources: {requests: {cpu: 2}}}]\npriorityClassName: "
        "system-node-critical"
    )
    (pod,) = Loaded(tmp_path, item).pods
    assert pod["spec"]["containers"][0]["resources"]["requests"] == {"cpu": 2}


@pytest.mark.parametrize(
    "field",
    [
        {"nodeSelector": {"arch": "{{inputs.arch}}"}},
        {"podSpecPatch": "a: '{{x}}'"},
        {"container": mounting("{{inputs.pvc}}")},
    ],
)
def test_a_workflow_whose_place_depends_on_parameters_is_unsupported(
    tmp_path: Path, field: dict[str, Any]
) -> None:
    loaded = Loaded(tmp_path, workflow({"container": {"image": "x"}, **field}))
    assert not loaded.pods
    assert "parameters of the run" in loaded.skipped.lines()[0]


def test_each_pod_of_a_leader_worker_set_has_its_own_pvc(tmp_path: Path) -> None:
    template = {"spec": {"containers": [mounting("data")]}}
    shape = {"size": 2, "workerTemplate": template, "volumeClaimTemplates": [claim("data")]}
    item = made("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", {"leaderWorkerTemplate": shape})
    found = [claims_of(pod) for pod in Loaded(tmp_path, item).pods]
    assert found == [["data-job-0-leader-0"], ["data-job-0-worker-0"]]


def test_the_jobs_of_a_job_set_share_its_pvcs(tmp_path: Path) -> None:
    template = {"spec": {"containers": [mounting("data")]}}
    job = {"name": "w", "template": {"spec": {"parallelism": 2, "template": template}}}
    spec = {"replicatedJobs": [job], "volumeClaimPolicies": [{"templates": [claim("data")]}]}
    loaded = Loaded(tmp_path, made("jobset.x-k8s.io/v1alpha2", "JobSet", spec))
    assert [claims_of(pod) for pod in loaded.pods] == [["job-data"], ["job-data"]]
    assert loaded.others == ["PersistentVolumeClaim"]


def test_a_volcano_job_with_more_members_than_replicas_is_refused(tmp_path: Path) -> None:
    spec = {"minAvailable": 3, "tasks": [{"name": "t", "replicas": 2, "template": TEMPLATE}]}
    with pytest.raises(InputError, match=r"minAvailable: got 3, expected 0..2"):
        Loaded(tmp_path, made("batch.volcano.sh/v1alpha1", "Job", spec))


@pytest.mark.parametrize(
    ("version", "kind"),
    [("scheduling.volcano.sh/v1beta1", "Queue"), ("scheduling.x-k8s.io/v1alpha1", "ElasticQuota")],
)
def test_other_kinds_of_other_schedulers_are_skipped(
    tmp_path: Path, version: str, kind: str
) -> None:
    loaded = Loaded(tmp_path, made(version, kind, {}), pod("a"))
    assert loaded.names == ["a"]
    assert loaded.skipped.lines()[0].startswith(f"skipped: 1 {kind} of {version}")
