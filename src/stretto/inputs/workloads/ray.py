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


_AUTOSCALER: Final[JsonObject] = {"cpu": "500m", "memory": "512Mi"}
"""KubeRay's own requests and limits of the autoscaler beside the head."""
_WAITING: Final[JsonObject] = {"cpu": "200m", "memory": "256Mi"}
"""KubeRay's requests and limits of the init container in which a worker waits for the head."""
_TOKEN: Final[JsonObject] = {
    "name": "ray-token",
    "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]},
}
"""KubeRay's volume of a cluster that authenticates with tokens of Kubernetes."""


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
    template = _head(spec, template, where)
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
        pods = _worker(spec, template_of(group.get("template"), f"{place}.template"), where)
        added = {**labels, "ray.io/node-type": "worker", "ray.io/group": name}
        sets.append(PodSet(f"{item.name}-{name}-worker", wanted * hosts, pods, added))
        least += hosts * (fewest if spec.get("enableInTreeAutoscaling") else wanted)
    if item.notes.get(GANG) == "true":
        return [*whole(item.name, sets, least), *loose(f"{item.name}-submitter", more)]
    return loose(item.name, [*sets, *more])


def _head(spec: JsonObject, template: JsonObject, where: str) -> JsonObject:
    """The template of the head, with the autoscaler that KubeRay adds to it."""
    if not spec.get("enableInTreeAutoscaling"):
        return _with_token(spec, template, where)
    options = map_of(spec.get("autoscalerOptions"), f"{where}.autoscalerOptions")
    resources = options.get("resources") or {"requests": _AUTOSCALER, "limits": _AUTOSCALER}
    added = {"name": "autoscaler", "resources": resources}
    return _with_token(spec, _with(template, "containers", added, where), where)


def _worker(spec: JsonObject, template: JsonObject, where: str) -> JsonObject:
    """The template of a worker, with the init container that KubeRay adds to it."""
    added = {"name": "wait-gcs-ready", "resources": {"requests": _WAITING, "limits": _WAITING}}
    return _with_token(spec, _with(template, "initContainers", added, where), where)


def _with_token(spec: JsonObject, template: JsonObject, where: str) -> JsonObject:
    """A template with the volume of tokens, if the cluster uses them and it has none."""
    volumes = template["spec"].get("volumes") or []
    options = map_of(spec.get("authOptions"), f"{where}.authOptions")
    is_used = options.get("enableK8sTokenAuth")
    has_one = any(each.get("name") == _TOKEN["name"] for each in volumes if isinstance(each, dict))
    return _with(template, "volumes", _TOKEN, where) if is_used and not has_one else template


def _with(template: JsonObject, field: str, item: JsonObject, where: str) -> JsonObject:
    """A template with a further item in a list of its spec."""
    spec = template["spec"]
    items = list_of(spec.get(field), f"{where}: pod template: spec.{field}")
    return {**template, "spec": {**spec, field: [*items, item]}}
