"""Jobs of Kueue, JobSet, LeaderWorkerSet, Volcano and Argo Rollouts."""

import msgspec

from stretto.base.errors import InputError
from stretto.inputs.objects.objects import JsonObject
from stretto.inputs.workloads.units import (
    PodSet,
    UnsupportedWorkloadError,
    Workload,
    WorkloadUnit,
    claim_sources,
    count_of,
    list_of,
    loose,
    map_of,
    mounted,
    template_of,
    whole,
)

KUEUE_QUEUE = "kueue.x-k8s.io/queue-name"
"""Label of a workload that Kueue admits as a whole."""
_MIN_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"
_JOBSET_EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_LWS_EXCLUSIVE = "leaderworkerset.sigs.k8s.io/exclusive-topology"


def kueue_job(item: Workload) -> list[WorkloadUnit]:
    """A Job that Kueue admits: a gang of its simultaneous pods, even while it is suspended."""
    pods = [_job_pods(item.spec, item.name, f"{item.title}: spec")]
    least = item.notes.get(_MIN_PARALLELISM, "")
    total = pods[0].count
    return whole(item.name, pods, min(int(least), total) if least.isdigit() else None)


def job_set(item: Workload) -> list[WorkloadUnit]:
    """A JobSet: the pods of every Job of every replicated Job; a gang if Kueue admits it."""
    sets = []
    jobs = list_of(item.spec.get("replicatedJobs"), f"{item.title}: spec.replicatedJobs")
    topology = item.notes.get(_JOBSET_EXCLUSIVE)
    where = f"{item.title}: spec.volumeClaimPolicies"
    policies = list_of(item.spec.get("volumeClaimPolicies"), where)
    volumes = [one for each in policies for one in list_of(each.get("templates"), where)]
    for index, job in enumerate(jobs):
        where = f"{item.title}: spec.replicatedJobs[{index}]"
        inner = map_of(map_of(job.get("template"), f"{where}.template").get("spec"), where)
        for number in range(count_of(job.get("replicas"), f"{where}.replicas", 1)):
            name = f"{item.name}-{job.get('name', index)}-{number}"
            labels = {
                "jobset.sigs.k8s.io/jobset-name": item.name,
                "jobset.sigs.k8s.io/replicatedjob-name": str(job.get("name", index)),
                "jobset.sigs.k8s.io/job-index": str(number),
                "jobset.sigs.k8s.io/job-key": name,
            }
            pods = _job_pods(inner, name, f"{where}.template.spec", labels)
            claims = claim_sources(volumes, mounted(pods.template["spec"]), item.name)
            pods = msgspec.structs.replace(pods, claims=claims)
            key = topology or _exclusive_of(job)
            sets.append(_exclusive(pods, key, "jobset.sigs.k8s.io/job-key") if key else pods)
    if item.spec.get("suspend") and KUEUE_QUEUE not in item.notes:
        return []
    return (whole if KUEUE_QUEUE in item.notes else loose)(item.name, sets)


def _exclusive_of(job: JsonObject) -> str:
    """The exclusive topology of one replicated Job."""
    meta = map_of(map_of(job.get("template"), "template").get("metadata"), "metadata")
    return str(map_of(meta.get("annotations"), "annotations").get(_JOBSET_EXCLUSIVE, ""))


def _job_pods(
    spec: JsonObject, name: str, where: str, labels: dict[str, str] | None = None
) -> PodSet:
    """The simultaneous pods of a Job."""
    at_once = count_of(spec.get("parallelism"), f"{where}.parallelism", 1)
    needed = count_of(spec.get("completions"), f"{where}.completions", at_once)
    added = {"batch.kubernetes.io/job-name": name, "job-name": name, **(labels or {})}
    template = template_of(spec.get("template"), f"{where}.template")
    return PodSet(name, min(at_once, needed), template, added)


def _exclusive(pods: PodSet, topology: str, label: str) -> PodSet:
    """Pods that share one domain with each other and with no pod of another set."""
    own = {"key": label, "operator": "In", "values": [pods.labels[label]]}
    others = {"key": label, "operator": "NotIn", "values": [pods.labels[label]]}
    exists = {"key": label, "operator": "Exists"}
    spec = pods.template["spec"]
    affinity = dict(spec.get("affinity") or {})
    for part, terms in (("podAffinity", [own]), ("podAntiAffinity", [exists, others])):
        rules = dict(affinity.get(part) or {})
        key = "requiredDuringSchedulingIgnoredDuringExecution"
        term = {"labelSelector": {"matchExpressions": terms}, "topologyKey": topology}
        affinity[part] = {**rules, key: [*(rules.get(key) or []), term]}
    template = {**pods.template, "spec": {**spec, "affinity": affinity}}
    return msgspec.structs.replace(pods, template=template)


def leader_worker_set(item: Workload) -> list[WorkloadUnit]:
    """A LeaderWorkerSet: each group of one leader and its workers is a gang."""
    where = f"{item.title}: spec.leaderWorkerTemplate"
    shape = map_of(item.spec.get("leaderWorkerTemplate"), where)
    size = count_of(shape.get("size"), f"{where}.size", 1)
    worker = template_of(shape.get("workerTemplate"), f"{where}.workerTemplate")
    leader = shape.get("leaderTemplate")
    first = template_of(leader, f"{where}.leaderTemplate") if leader else worker
    groups = count_of(item.spec.get("replicas"), f"{item.title}: spec.replicas", 1)
    topology = item.notes.get(_LWS_EXCLUSIVE)
    volumes = list_of(shape.get("volumeClaimTemplates"), f"{where}.volumeClaimTemplates")
    units = []
    for number in range(groups if size else 0):
        name = f"{item.name}-{number}"
        labels = {
            "leaderworkerset.sigs.k8s.io/name": item.name,
            "leaderworkerset.sigs.k8s.io/group-index": str(number),
            "leaderworkerset.sigs.k8s.io/group-key": name,
        }
        shapes = [(f"{name}-leader", 1, first)]
        if size > 1:
            shapes.append((f"{name}-worker", size - 1, worker))
        sets = [
            PodSet(pods, count, each, labels, claim_sources(volumes, mounted(each["spec"])))
            for pods, count, each in shapes
        ]
        if topology:
            label = "leaderworkerset.sigs.k8s.io/group-key"
            sets = [_exclusive(each, topology, label) for each in sets]
        units += whole(name, sets)
    return units


def volcano_job(item: Workload) -> list[WorkloadUnit]:
    """A Job of Volcano: a gang of ``minAvailable`` pods, by default of all."""
    sets = []
    for index, task in enumerate(list_of(item.spec.get("tasks"), f"{item.title}: spec.tasks")):
        where = f"{item.title}: spec.tasks[{index}]"
        name = str(task.get("name") or f"default{index}")
        count = count_of(task.get("replicas"), f"{where}.replicas", 1)
        labels = {"volcano.sh/job-name": item.name, "volcano.sh/task-spec": name}
        template = template_of(task.get("template"), f"{where}.template")
        sets.append(PodSet(f"{item.name}-{name}", count, template, labels))
    least = item.spec.get("minAvailable")
    where = f"{item.title}: spec.minAvailable"
    minimum, total = count_of(least, where, 0), sum(each.count for each in sets)
    if minimum > total:
        raise InputError(where, minimum, f"0..{total}, the sum of the replicas of its tasks")
    return whole(item.name, sets, minimum or None)


def rollout(item: Workload) -> list[WorkloadUnit]:
    """A Rollout of Argo: the pods of its stable version."""
    if "workloadRef" in item.spec:
        raise UnsupportedWorkloadError("its pods are those of the Deployment in workloadRef")
    count = count_of(item.spec.get("replicas"), f"{item.title}: spec.replicas", 1)
    template = template_of(item.spec.get("template"), f"{item.title}: spec.template")
    return loose(item.name, [PodSet(item.name, count, template)])
