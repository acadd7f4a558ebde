"""Pods of workload objects, as their controllers would create them.

An embedded run has no controller manager. This module creates the pods as the controllers do: from
the template, owned by the controller (for a Deployment by its ReplicaSet), with its labels and
names, and with the PVCs of StatefulSets; the PVCs of ephemeral volumes are made when the pods exist
(``sim.submission.ephemeral``). A controller whose pods or ReplicaSets are in the input, as in a
dump of a live cluster, creates none.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from stretto.api.admission.field_rules import check_new
from stretto.api.admission.request import JsonObject
from stretto.api.admission.workloads import stable_uid
from stretto.api.codec import decode_as, parse_object, without_nulls
from stretto.api.types.core import Node
from stretto.api.wire import kinds
from stretto.api.wire.kinds import Kind
from stretto.inputs.neutral.strict import inside
from stretto.inputs.objects.admission import InputAdmission, admitted_late
from stretto.inputs.objects.checked import checking
from stretto.inputs.objects.made_pods import MAKERS, Controller, template_spec
from stretto.inputs.objects.relations import InputObject, Key, owner_key


def held_objects(
    found: Sequence[InputObject],
    nodes: Sequence[Node],
    admission: InputAdmission,
    scaled: Collection[Key] = (),
) -> list[InputObject]:
    """The objects after admission; controllers, except scaled ones, are replaced by their pods."""
    held: dict[Key, InputObject] = {}
    for each in found:
        with checking(admission.checks, each.label):
            ready = None if admitted_late(each.kind) else admission.admitted(each)
            if ready is not None:
                held[each.key] = ready
    every = {each.metadata.name: each for each in (*nodes, *_nodes_of(held.values()))}
    kept = [each for each in found if each.key in held or admitted_late(each.kind)]
    later = [held.get(each.key, each) for each in kept]
    return _expanded(later, list(every.values()), admission, scaled)


def _nodes_of(objects: Iterable[InputObject]) -> list[Node]:
    """The Nodes among some objects as structs."""
    return [decode_as(Node, each.body) for each in objects if each.kind is kinds.NODE]


def _expanded(
    manifests: Sequence[InputObject],
    nodes: Sequence[Node],
    admission: InputAdmission,
    scaled: Collection[Key],
) -> list[InputObject]:
    """The manifests with controllers replaced by their pods; a DaemonSet gets one pod per node.

    This admits pods and controllers, in their order; the other objects are admitted already.
    """
    owned = _owned(manifests)
    result: list[InputObject] = []
    for each in manifests:
        if each.kind not in MAKERS and each.kind != kinds.POD:
            result.append(each)
        elif each.key in scaled:
            with checking(admission.checks, each.label):
                ready = admission.admitted(each)
                result += [] if ready is None else [ready]
        elif each.kind == kinds.POD or each.key not in owned:
            with checking(admission.checks, each.label):
                made = _held(each, nodes, admission)
                result += made
                if admission.checks is not None:
                    pods = sum(one.kind == kinds.POD for one in made)
                    admission.checks.made(each.label, pods)
    return result


def _held(item: InputObject, nodes: Sequence[Node], admission: InputAdmission) -> list[InputObject]:
    """A pod or the pods of a controller, each after its PVCs; empty if it is refused."""
    admitted = admission.admitted(item)
    if admitted is None:
        return []
    if item.kind == kinds.POD:
        return [admitted]
    return list(_made(admitted, nodes, admission))


def _pvcs(
    pod: InputObject, admission: InputAdmission, made: Sequence[JsonObject]
) -> Iterator[InputObject]:
    """The PVCs that a controller creates for a pod, except existing ones."""
    for pvc in made:
        item = _object(kinds.PERSISTENT_VOLUME_CLAIM, pvc, pod.where)
        ready = None if admission.holds(item) else admission.admitted(item)
        if ready is not None:
            yield ready


def _owned(manifests: Sequence[InputObject]) -> set[Key]:
    """Controllers that own an object of the input."""
    return {
        owner_key(each, reference)
        for each in manifests
        if b'"ownerReferences"' in each.body
        for reference in each.meta().owner_references
    }


def _made(
    item: InputObject, nodes: Sequence[Node], admission: InputAdmission
) -> Iterator[InputObject]:
    """The pods of one controller, each after its PVCs."""
    body = without_nulls(parse_object(item.body, item.title))
    controller = Controller(item, body, nodes)
    pvcs: dict[str, Sequence[JsonObject]] = {}
    for body in admission.admit_pods(_bodies(controller, pvcs), item.where):
        pod = _object(kinds.POD, body, item.where)
        yield from _pvcs(pod, admission, pvcs.pop(pod.name, ()))
        yield pod


def _bodies(controller: Controller, pvcs: dict[str, Sequence[JsonObject]]) -> Iterator[JsonObject]:
    """The pods before admission; ``pvcs`` receives their PVCs by the name of the pod."""
    item, template = controller.item, controller.spec["template"]
    meta = template.get("metadata") or {}
    owner, checked = _owner(controller), False
    base = template_spec(controller)
    for made in MAKERS[item.kind](controller):
        metadata = {
            "name": made.name,
            "namespace": item.namespace,
            "labels": {**(meta.get("labels") or {}), **made.labels},
            "annotations": {**(meta.get("annotations") or {}), **made.annotations},
            "ownerReferences": [owner],
        }
        spec = {**base, **made.spec}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        if not checked:
            with inside(f"{item.title}: spec.template"):
                check_new(kinds.POD, msgspec.json.encode(pod))
            checked = True
        if made.pvcs:
            pvcs[made.name] = made.pvcs
        yield pod


def _object(kind: Kind, body: JsonObject, where: str) -> InputObject:
    """A generated object of the input."""
    meta = body["metadata"]
    return InputObject(kind, meta["namespace"], meta["name"], msgspec.json.encode(body), where)


def _owner(controller: Controller) -> JsonObject:
    """The owner reference of the pods; for a Deployment, of its ReplicaSet."""
    item = controller.item
    kind, meta = item.kind, controller.body["metadata"]
    if kind is kinds.DEPLOYMENT:
        own = {"name": f"{item.name}-{controller.hash}", "namespace": item.namespace}
        kind, meta = kinds.REPLICA_SET, own
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": meta["name"],
        "uid": stable_uid(kind, meta),
        "controller": True,
        "blockOwnerDeletion": True,
    }
