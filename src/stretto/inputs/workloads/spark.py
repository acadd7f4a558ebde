"""Applications of the Spark operator: one driver and its executors."""

import re
from typing import Final

from stretto.inputs.objects.objects import JsonObject
from stretto.inputs.workloads.units import (
    PodSet,
    UnsupportedWorkloadError,
    Workload,
    WorkloadUnit,
    count_of,
    loose,
    map_of,
)

_SIZE: Final = re.compile(r"(\d+)\s*([kmgtp]?)b?", re.IGNORECASE)
_MIB: Final = {"": 2**-20, "k": 2**-10, "m": 1, "g": 2**10, "t": 2**20, "p": 2**30}
_LEAST_OVERHEAD_MIB: Final = 384
"""Spark's minimum memory beyond the heap."""
_OVERHEADS: Final = {"Java": 0.1, "Scala": 0.1}
"""Spark's share of the heap for overhead; 0.4 for Python and R."""
_COPIED: Final = (
    "nodeSelector",
    "affinity",
    "tolerations",
    "schedulerName",
    "priorityClassName",
    "initContainers",
)


def spark_application(item: Workload) -> list[WorkloadUnit]:
    """A SparkApplication: the driver and the first executors, each as its own unit."""
    driver = map_of(item.spec.get("driver"), f"{item.title}: spec.driver")
    executor = map_of(item.spec.get("executor"), f"{item.title}: spec.executor")
    dynamic = map_of(item.spec.get("dynamicAllocation"), f"{item.title}: spec.dynamicAllocation")
    count = count_of(executor.get("instances"), f"{item.title}: spec.executor.instances", 1)
    if dynamic.get("enabled"):
        first = dynamic.get("initialExecutors", dynamic.get("minExecutors"))
        count = count_of(first, f"{item.title}: spec.dynamicAllocation", 0)
    sets = [
        PodSet(f"{item.name}-driver", 1, _template(item, driver, "driver")),
        PodSet(f"{item.name}-exec", count, _template(item, executor, "executor")),
    ]
    return loose(item.name, sets)


def _template(item: Workload, part: JsonObject, role: str) -> JsonObject:
    """The pod that Spark creates for a driver or an executor."""
    where = f"{item.title}: spec.{role}"
    overhead = part.get("memoryOverhead")
    heap = _mebibytes(part.get("memory") or "1g", f"{where}.memory")
    share = float(item.spec.get("memoryOverheadFactor") or _OVERHEADS.get(_type(item), 0.4))
    extra = max(int(heap * share), _LEAST_OVERHEAD_MIB)
    if overhead is not None:
        extra = _mebibytes(overhead, f"{where}.memoryOverhead")
    requests = {"cpu": str(part.get("coreRequest") or part.get("cores") or 1)}
    requests["memory"] = f"{heap + extra}Mi"
    limits = {"memory": requests["memory"]}
    if part.get("coreLimit"):
        limits["cpu"] = str(part["coreLimit"])
    gpu = map_of(part.get("gpu"), f"{where}.gpu")
    if gpu:
        name, number = str(gpu.get("name")), count_of(gpu.get("quantity"), f"{where}.gpu", 1)
        requests[name] = limits[name] = str(number)
    given = map_of(map_of(part.get("template"), f"{where}.template").get("spec"), where)
    base = (given.get("containers") or [{}])[0]
    container = {
        **base,
        "name": f"spark-kubernetes-{role}",
        "resources": {"requests": requests, "limits": limits},
    }
    own = {name: part[name] for name in _COPIED if part.get(name)}
    spec = {**given, **own, "containers": [container, *(given.get("containers") or [])[1:]]}
    labels = {**map_of(part.get("labels"), f"{where}.labels"), "spark-role": role}
    labels["sparkoperator.k8s.io/app-name"] = item.name
    notes = map_of(part.get("annotations"), f"{where}.annotations")
    return {"metadata": {"labels": labels, "annotations": notes}, "spec": spec}


def _type(item: Workload) -> str:
    """The language of an application."""
    kind = item.spec.get("type")
    if kind not in ("Java", "Scala", "Python", "R"):
        raise UnsupportedWorkloadError(f"spec.type is {kind!r}, not Java, Scala, Python or R")
    return str(kind)


def _mebibytes(value: object, where: str) -> int:
    """An amount of memory in the notation of the JVM: ``512m``, ``4g``."""
    found = _SIZE.fullmatch(str(value).strip().removesuffix("i"))
    if found is None:
        raise UnsupportedWorkloadError(f"{where} is {value!r}, not a size of the JVM such as 512m")
    return max(1, round(int(found[1]) * _MIB[found[2].lower()]))
