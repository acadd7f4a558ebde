"""A scenario's objects in their form in a cluster: admitted pods, namespaces, unique names."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final

import msgspec

from stretto.api.admission.admit import admit
from stretto.api.admission.request import AdmissionRequest, ObjectSet
from stretto.api.types.heads import decode_object_head
from stretto.api.wire.kinds import NAMESPACE, POD, Kind
from stretto.base.errors import InputError
from stretto.inputs.objects.admission import InputAdmission, InputContext
from stretto.inputs.objects.equal_specs import PodTemplateAdmission
from stretto.inputs.scenario.arrivals import ObjectArrival, WorkloadArrivals

_RENAME: Final = {
    "Node": "name the shapes: their nodes get the name as a prefix",
    "Queue": "rename one of the two queues",
}
"""Advice for two objects with the same name, by kind; other objects come from workloads."""
_Key = tuple[str, str, str]
"""Kind, namespace and name."""


def admitted(
    works: Sequence[WorkloadArrivals], objects: Sequence[tuple[Kind, bytes]], where: str
) -> Iterator[ObjectArrival]:
    """All arrivals in their form in a cluster; generated pods are admitted here.

    Quotas are charged when a pod arrives.
    """
    admission = InputAdmission(objects, InputContext(charges_pods=False))
    for index, work in enumerate(works):
        if work.admitted:
            yield from work.arrivals
            continue
        admit_pod = partial(admission.admit_body, POD, where=f"{where}: workloads[{index}]")
        pods = PodTemplateAdmission(apart=admission.reads_namespaces)
        for each in work.arrivals:
            body = pods.body(each.body, admit_pod) if each.kind is POD else each.body
            if body is not None:
                yield msgspec.structs.replace(each, body=body)


def missing_namespaces(
    objects: Sequence[tuple[Kind, bytes]], arrivals: Iterable[ObjectArrival]
) -> Iterator[tuple[Kind, bytes]]:
    """The namespaces of objects that no input contains, by name."""
    used = {each.namespace for each in arrivals}
    known = set()
    for kind, body in objects:
        meta = decode_object_head(body).metadata
        if kind == NAMESPACE:
            known.add(meta.name)
        used.add(meta.namespace)
    for name in sorted(used - known - {""}):
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        held = admit(AdmissionRequest(NAMESPACE, space), ObjectSet()).body
        yield NAMESPACE, msgspec.json.encode(held)


def check_unique(
    objects: Iterable[tuple[Kind, bytes]], arrivals: Iterable[ObjectArrival], where: str
) -> None:
    """Refuse two objects of one kind and name (workloads without names, or a repeated file)."""
    seen: set[_Key] = set()
    for key in _keys(objects, arrivals):
        if key in seen:
            kind, namespace, name = key
            found = f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"
            hint = _RENAME.get(kind, "name the workloads: their objects get the name as a prefix")
            raise InputError(where, found, "a unique name", hint)
        seen.add(key)


def _keys(
    objects: Iterable[tuple[Kind, bytes]], arrivals: Iterable[ObjectArrival]
) -> Iterable[_Key]:
    """The keys of all objects."""
    for kind, body in objects:
        meta = decode_object_head(body).metadata
        yield kind.kind, meta.namespace, meta.name
    for each in arrivals:
        yield each.kind.kind, each.namespace, each.name
