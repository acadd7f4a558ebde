"""The neutral form of a workload: sets of equal pods, and the gangs that they form.

Operators create pods in many ways; a scheduler only needs the pods, their number and the minimum
that must run together. Each module of this folder computes that for one family of kinds.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import msgspec

from stretto.base.errors import InputError
from stretto.inputs.objects.objects import JsonObject

MAX_PODS: Final = 100_000
"""Maximum number of pods of one set; a larger number is assumed to be a typing error."""


class OperatorClaim(msgspec.Struct, frozen=True):
    """A PVC that an operator creates for the pods of a workload."""

    #: Name of the volume of the pods that uses it.
    volume: str
    #: Its template: ``metadata`` and ``spec``.
    template: JsonObject
    #: Name of the PVC that all pods share; empty for one PVC per pod, named ``VOLUME-POD``.
    shared: str = ""

    def name(self, pod: str) -> str:
        """Name of the PVC of a pod."""
        return self.shared or f"{self.volume}-{pod}"


class PodSet(msgspec.Struct, frozen=True):
    """Equal pods of a workload."""

    #: Prefix of the names of its pods, which get a number.
    name: str
    #: Number of pods.
    count: int
    #: Their template: ``metadata`` and ``spec``.
    template: JsonObject
    #: Labels that the operator adds.
    labels: Mapping[str, str] = {}
    #: PVCs that the operator creates for them.
    claims: tuple[OperatorClaim, ...] = ()


class WorkloadUnit(msgspec.Struct, frozen=True):
    """Pods that belong together."""

    #: Name of the unit, and of its PodGroup.
    name: str
    #: Its pods.
    sets: tuple[PodSet, ...]
    #: Minimum number of pods that run together; ``None`` if each pod is its own unit.
    min_member: int | None = None


class Workload(msgspec.Struct, frozen=True):
    """A workload object of an input, parsed."""

    #: Location and name, for messages.
    title: str
    #: Its name.
    name: str
    #: Its kind.
    kind: str
    #: Its labels and annotations.
    notes: Mapping[str, str]
    #: Its spec.
    spec: JsonObject
    #: Other objects of the input by kind and name, for references.
    others: Mapping[tuple[str, str], JsonObject]


class UnsupportedWorkloadError(InputError):
    """A workload whose pods cannot be derived from its object; the user sees the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__("workload", None, reason)
        #: Reason why its pods are unknown.
        self.reason = reason


def count_of(value: Any, where: str, default: int) -> int:
    """A number of pods.

    Raises:
        InputError: the value is not a number, or is out of range.
    """
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_PODS:
        raise InputError(where, value, f"a number of pods, 0..{MAX_PODS}")
    return value


def map_of(value: Any, where: str) -> JsonObject:
    """A map, empty if it is absent.

    Raises:
        InputError: the value is not a map.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InputError(where, value, "an object")
    return value


def list_of(value: Any, where: str) -> list[JsonObject]:
    """A list of maps, empty if it is absent.

    Raises:
        InputError: the value is not a list of maps.
    """
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise InputError(where, value, "a list of objects")
    return value


def mounted(spec: JsonObject) -> set[str]:
    """The volumes that the containers of a pod mount."""
    containers = [*_maps(spec.get("containers")), *_maps(spec.get("initContainers"))]
    return {str(m.get("name")) for each in containers for m in _maps(each.get("volumeMounts"))}


def _maps(value: Any) -> list[JsonObject]:
    """The maps of a list that is not validated yet."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def claim_sources(
    templates: Iterable[JsonObject], mounts: Collection[str], shared: str = ""
) -> tuple[OperatorClaim, ...]:
    """The PVCs of templates that pods mount; ``shared`` is the prefix of shared PVCs' names."""
    where = "volumeClaimTemplates: metadata"
    named = [(str(map_of(each.get("metadata"), where).get("name")), each) for each in templates]
    return tuple(
        OperatorClaim(name, each, f"{shared}-{name}" if shared else "")
        for name, each in named
        if name in mounts
    )


def template_of(value: Any, where: str) -> JsonObject:
    """A pod template.

    Raises:
        InputError: the template has no spec.
    """
    template = map_of(value, where)
    if not isinstance(template.get("spec"), dict):
        raise InputError(f"{where}.spec", template.get("spec"), "the spec of a pod")
    return template


def whole(name: str, sets: list[PodSet], min_member: int | None = None) -> list[WorkloadUnit]:
    """One gang of all pods of some sets, or of ``min_member`` of them."""
    total = sum(each.count for each in sets)
    least = total if min_member is None else min_member
    return [WorkloadUnit(name, tuple(sets), least)] if total else []


def loose(name: str, sets: list[PodSet]) -> list[WorkloadUnit]:
    """Pods that are units of their own."""
    return [WorkloadUnit(name, tuple(sets))]
