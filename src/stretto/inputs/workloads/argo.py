"""Workflows of Argo: the pods that start first, if the templates determine them."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from stretto.api.edit.strategic import StrategicPatchError, strategic_merge
from stretto.api.edit.yaml_text import load_documents
from stretto.api.schema.kubernetes import struct
from stretto.base.errors import InputError
from stretto.inputs.objects.objects import JsonObject
from stretto.inputs.workloads.units import (
    PodSet,
    UnsupportedWorkloadError,
    Workload,
    WorkloadUnit,
    claim_sources,
    list_of,
    loose,
    map_of,
    mounted,
)

_COPIED: Final = (
    "nodeSelector",
    "affinity",
    "tolerations",
    "schedulerName",
    "priorityClassName",
    "resourceClaims",
)
"""Fields of a template, and of the workflow, that are copied to its pods."""
_DYNAMIC: Final = ("withParam", "withSequence", "when")
"""Fields of a step whose pods become known only while the workflow runs."""
_NO_PODS: Final = ("suspend", "http", "plugin", "resource", "data")
"""Templates without a pod of a given template."""
_NOT_OF_PODS: Final = ("mirrorVolumeMounts", "source")
"""Fields of a template's containers that containers of pods do not have."""
_MAX_DEPTH: Final = 20


def workflow(item: Workload) -> list[WorkloadUnit]:
    """A Workflow: the pods of its entrypoint that start at once, each as its own unit."""
    if "workflowTemplateRef" in item.spec:
        raise UnsupportedWorkloadError("its steps are in the WorkflowTemplate that it refers to")
    where = f"{item.title}: spec.templates"
    templates = {str(each.get("name")): each for each in list_of(item.spec.get("templates"), where)}
    first = _first(str(item.spec.get("entrypoint") or ""), templates, 0)
    return loose(item.name, [_pods(item, name, each, where) for name, each in enumerate(first)])


def _pods(item: Workload, number: int, template: JsonObject, where: str) -> PodSet:
    """The pod of one container template."""
    container = map_of(template.get("container") or template.get("script"), where)
    own = {
        name: template.get(name) or item.spec.get(name)
        for name in _COPIED
        if template.get(name) or item.spec.get(name)
    }
    if item.spec.get("podPriorityClassName"):
        own.setdefault("priorityClassName", item.spec["podPriorityClassName"])
    spec: JsonObject = {**own, "containers": [_container({**container, "name": "main"})]}
    spec["containers"] += map(_container, list_of(template.get("sidecars"), where))
    init = [_container(each) for each in list_of(template.get("initContainers"), where)]
    if init:
        spec["initContainers"] = init
    mounts = mounted(spec)
    spec["volumes"] = [
        each
        for holder in (template, item.spec)
        for each in list_of(holder.get("volumes"), f"{where}: volumes")
        if each.get("name") in mounts
    ]
    for holder in (item.spec, template):
        spec = _patched(spec, holder.get("podSpecPatch"), where)
    _check_known(spec, str(template.get("name")))
    return PodSet(
        f"{item.name}-{template.get('name')}-{number}",
        1,
        {"metadata": map_of(template.get("metadata"), where), "spec": spec},
        {"workflows.argoproj.io/workflow": item.name},
        claim_sources(list_of(item.spec.get("volumeClaimTemplates"), where), mounts, item.name),
    )


def _container(given: JsonObject) -> JsonObject:
    """A container of a template as a container of a pod."""
    return {name: value for name, value in given.items() if name not in _NOT_OF_PODS}


def _patched(spec: JsonObject, patch: Any, where: str) -> JsonObject:
    """A spec after merging a ``podSpecPatch``, a text in YAML or JSON."""
    if not isinstance(patch, str) or not patch.strip():
        return spec
    if "{{" in patch:
        raise UnsupportedWorkloadError("its podSpecPatch depends on parameters of the run")
    place = f"{where}: podSpecPatch"
    for _, change in load_documents(patch, place):
        try:
            spec = strategic_merge(spec, map_of(change, place), struct("core/v1.PodSpec"))
        except StrategicPatchError as error:
            raise InputError(place, patch, f"a strategic merge patch: {error}") from error
    return spec


def _check_known(spec: JsonObject, name: str) -> None:
    """Refuse pods whose placement depends on parameters."""
    containers = [*spec["containers"], *spec.get("initContainers", ())]
    deciding = [
        *(spec.get(each) for each in _COPIED),
        spec["volumes"],
        sorted(mounted(spec)),
        *(each.get("resources") for each in containers),
    ]
    if b"{{" in msgspec.json.encode(deciding):
        raise UnsupportedWorkloadError(f"the pods of {name!r} depend on parameters of the run")


def _first(name: str, templates: Mapping[str, JsonObject], depth: int) -> list[JsonObject]:
    """The container templates that start first when a template runs."""
    template = templates.get(name)
    if template is None:
        raise UnsupportedWorkloadError(f"its template {name!r} is not in the object")
    if depth > _MAX_DEPTH:
        raise UnsupportedWorkloadError("its templates refer to each other")
    if "container" in template or "script" in template:
        return [template]
    if "containerSet" in template or any(each in template for each in _NO_PODS):
        raise UnsupportedWorkloadError(f"template {name!r} is neither a container nor steps")
    started = [
        called for step in _started(template, name) for called in [step] * _called(step, name)
    ]
    return [
        pod for step in started for pod in _first(str(step.get("template")), templates, depth + 1)
    ]


def _started(template: JsonObject, name: str) -> list[JsonObject]:
    """The steps or tasks without predecessors."""
    steps: Any = template.get("steps")
    if steps:
        group = steps[0]
        return list_of(group if isinstance(group, list) else [group], name)
    dag = map_of(template.get("dag"), name)
    return [
        task
        for task in list_of(dag.get("tasks"), name)
        if not task.get("dependencies") and not task.get("depends")
    ]


def _called(step: JsonObject, name: str) -> int:
    """Number of simultaneous runs of a step."""
    if any(each in step for each in _DYNAMIC) or "templateRef" in step or "inline" in step:
        raise UnsupportedWorkloadError(f"the steps of {name!r} depend on values of the run")
    items = step.get("withItems")
    return len(items) if isinstance(items, list) else 1
