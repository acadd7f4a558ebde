"""Training jobs of Kubeflow: replica types of the operators, and TrainJob with its runtime."""

from collections.abc import Callable

from stretto.inputs.objects.objects import JsonObject
from stretto.inputs.workloads.jobs import job_set
from stretto.inputs.workloads.units import (
    PodSet,
    UnsupportedWorkloadError,
    Workload,
    WorkloadUnit,
    count_of,
    map_of,
    template_of,
    whole,
)


def replica_types(member: str) -> Callable[[Workload], list[WorkloadUnit]]:
    """The reader of a job whose spec maps replica types to a count and a template.

    The job is one gang, because its processes wait for each other. It consists of all pods, or of
    ``runPolicy.schedulingPolicy.minAvailable``.
    """

    def read(item: Workload) -> list[WorkloadUnit]:
        where = f"{item.title}: spec.{member}"
        sets = []
        for kind, value in map_of(item.spec.get(member), where).items():
            replica = map_of(value, f"{where}.{kind}")
            count = count_of(replica.get("replicas"), f"{where}.{kind}.replicas", 1)
            template = template_of(replica.get("template"), f"{where}.{kind}.template")
            labels = {
                "training.kubeflow.org/job-name": item.name,
                "training.kubeflow.org/replica-type": kind.lower(),
            }
            sets.append(PodSet(f"{item.name}-{kind.lower()}", count, template, labels))
        if not sets:
            raise UnsupportedWorkloadError(f"spec.{member} is empty")
        policy = map_of(item.spec.get("runPolicy"), f"{item.title}: spec.runPolicy")
        gang = map_of(policy.get("schedulingPolicy"), f"{item.title}: spec.runPolicy")
        least = count_of(gang.get("minAvailable"), f"{item.title}: minAvailable", 0)
        return whole(item.name, sets, least or None)

    return read


def train_job(item: Workload) -> list[WorkloadUnit]:
    """A TrainJob: the JobSet of its runtime with the job's own number of nodes and resources."""
    reference = map_of(item.spec.get("runtimeRef"), f"{item.title}: spec.runtimeRef")
    kind = str(reference.get("kind") or "ClusterTrainingRuntime")
    name = str(reference.get("name") or "")
    runtime = item.others.get((kind, name))
    if runtime is None:
        raise UnsupportedWorkloadError(f"its {kind} {name} is not in the input: add it")
    spec = map_of(runtime.get("spec"), f"{kind} {name}: spec")
    template = map_of(spec.get("template"), f"{kind} {name}: spec.template")
    policy = map_of(spec.get("mlPolicy"), f"{kind} {name}: spec.mlPolicy")
    trainer = map_of(item.spec.get("trainer"), f"{item.title}: spec.trainer")
    nodes = count_of(
        trainer.get("numNodes", policy.get("numNodes")), f"{item.title}: spec.trainer.numNodes", 1
    )
    inner = map_of(template.get("spec"), f"{kind} {name}: spec.template.spec")
    jobs = [_trained(job, trainer, nodes) for job in inner.get("replicatedJobs") or ()]
    made = Workload(
        item.title, item.name, item.kind, item.notes, {"replicatedJobs": jobs}, item.others
    )
    return whole(item.name, [each for unit in job_set(made) for each in unit.sets])


def _trained(job: JsonObject, trainer: JsonObject, nodes: int) -> JsonObject:
    """A replicated Job of a runtime; the one for the nodes gets the job's numbers."""
    if job.get("name") != "node":
        return job
    spec = job["template"]["spec"]
    template = template_of(spec.get("template"), "template")
    containers = [
        {**each, "resources": trainer.get("resourcesPerNode") or each.get("resources") or {}}
        if each.get("name") == "node"
        else each
        for each in template["spec"].get("containers") or ()
    ]
    pods = {**template, "spec": {**template["spec"], "containers": containers}}
    inner = {**spec, "parallelism": nodes, "completions": nodes, "template": pods}
    return {**job, "template": {**job["template"], "spec": inner}}
