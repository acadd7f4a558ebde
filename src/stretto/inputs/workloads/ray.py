"""Clusters of KubeRay: a head, groups of workers, and the submitter of a RayJob."""

from typing import Final

from stretto.inputs.objects.objects import JsonObject
from stretto.inputs.workloads.units import (
    PodSet,
    UnsupportedWorkloadError,
    Workload,
    WorkloadUnit,
    count_of,
    list_of,
    loose,
    map_of,
    template_of,
    whole,
)

GANG: Final = "ray.io/gang-scheduling-enabled"
"""Label of a cluster whose pods start together."""
_SUBMITTER: Final[JsonObject] = {
    "spec": {
        "restartPolicy": "Never",
        "containers": [
            {
                "name": "ray-job-submitter",
                "resources": {
                    "requests": {"cpu": "500m", "memory": "200Mi"},
                    "limits": {"cpu": "1", "memory": "1Gi"},
                },
            }
        ],
    }
}
"""KubeRay's own template of the pod that submits a RayJob."""


def ray_cluster(item: Workload) -> list[WorkloadUnit]:
    """A RayCluster: a gang if its label requests one."""
    return _cluster(item, item.spec, f"{item.title}: spec", [])


def ray_job(item: Workload) -> list[WorkloadUnit]:
    """A RayJob: its cluster, and the submitter unless the operator submits over HTTP."""
    if "rayClusterSpec" not in item.spec:
        raise UnsupportedWorkloadError("it runs on the existing cluster of its clusterSelector")
    where = f"{item.title}: spec.rayClusterSpec"
    more = []
    if item.spec.get("submissionMode", "K8sJobMode") == "K8sJobMode":
        template = item.spec.get("submitterPodTemplate") or _SUBMITTER
        named = template_of(template, f"{item.title}: spec.submitterPodTemplate")
        more.append(PodSet(f"{item.name}-submitter", 1, named))
    return _cluster(item, map_of(item.spec.get("rayClusterSpec"), where), where, more)


def ray_service(item: Workload) -> list[WorkloadUnit]:
    """A RayService: its cluster."""
    where = f"{item.title}: spec.rayClusterConfig"
    return _cluster(item, map_of(item.spec.get("rayClusterConfig"), where), where, [])


def _cluster(
    item: Workload, spec: JsonObject, where: str, more: list[PodSet]
) -> list[WorkloadUnit]:
    """The pods of a cluster; its gang has the head and the minimum number of workers."""
    labels = {"ray.io/cluster": item.name, "ray.io/is-ray-node": "yes"}
    head = map_of(spec.get("headGroupSpec"), f"{where}.headGroupSpec")
    template = template_of(head.get("template"), f"{where}.headGroupSpec.template")
    sets = [PodSet(f"{item.name}-head", 1, template, {**labels, "ray.io/node-type": "head"})]
    least = 1
    workers = list_of(spec.get("workerGroupSpecs"), f"{where}.workerGroupSpecs")
    for index, group in enumerate(workers):
        place = f"{where}.workerGroupSpecs[{index}]"
        if group.get("suspend"):
            continue
        fewest = count_of(group.get("minReplicas"), f"{place}.minReplicas", 0)
        hosts = count_of(group.get("numOfHosts"), f"{place}.numOfHosts", 1)
        wanted = max(count_of(group.get("replicas"), f"{place}.replicas", 0), fewest)
        name = str(group.get("groupName") or f"worker{index}")
        pods = template_of(group.get("template"), f"{place}.template")
        added = {**labels, "ray.io/node-type": "worker", "ray.io/group": name}
        sets.append(PodSet(f"{item.name}-{name}-worker", wanted * hosts, pods, added))
        least += hosts * (fewest if spec.get("enableInTreeAutoscaling") else wanted)
    if item.notes.get(GANG) == "true":
        return [*whole(item.name, sets, least), *loose(f"{item.name}-submitter", more)]
    return loose(item.name, [*sets, *more])
