"""Pods of workload objects, as their controllers would create them.

An embedded run has no controller manager. This module creates the pods as the controllers do: from
the template, owned by the controller (for a Deployment by its ReplicaSet) and named after it. A
controller whose pods or ReplicaSets are in the input, as in a dump of a live cluster, creates none.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec

from stretto.api.codec import decode, decode_as, parse_object, without_nulls
from stretto.api.types.core import Node
from stretto.api.types.pod import PodSpec, Toleration
from stretto.api.validation import validate
from stretto.api.wire import kinds
from stretto.api.wire.kinds import Kind
from stretto.api.wire.selectors import node_terms
from stretto.base.errors import InputError
from stretto.inputs.neutral.strict import inside
from stretto.inputs.objects.objects import JsonObject
from stretto.inputs.objects.relations import InputObject, Key, owner_key

MAX_REPLICAS: Final = 1_000_000
"""Maximum number of pods of one controller: the pods of a whole cluster of the design."""
_BORNE: Final[tuple[JsonObject, ...]] = tuple(
    {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": effect}
    for name, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    )
)
"""Taints that the DaemonSet controller makes its pods tolerate."""

_MadePod = tuple[str, JsonObject]
"""Name of a pod, and the fields that its spec adds to the template's."""


class _Controller(msgspec.Struct, frozen=True):
    """A controller with the inputs of its pods."""

    #: The controller's own object.
    item: InputObject
    #: Its spec, parsed.
    spec: JsonObject
    #: The nodes of the cluster.
    nodes: Sequence[Node]


def expand(manifests: Sequence[InputObject], nodes: Sequence[Node]) -> list[InputObject]:
    """The manifests with controllers replaced by their pods; a DaemonSet gets one pod per node."""
    owned = _owned(manifests)
    result: list[InputObject] = []
    for each in manifests:
        if each.kind in _MAKERS:
            if each.key not in owned:
                result.extend(_pods(each, nodes))
        else:
            result.append(each)
    return result


def _owned(manifests: Sequence[InputObject]) -> set[Key]:
    """Controllers that own an object of the input."""
    return {
        owner_key(each, reference)
        for each in manifests
        if b'"ownerReferences"' in each.body
        for reference in each.meta().owner_references
    }


def _pods(controller: InputObject, nodes: Sequence[Node]) -> Iterator[InputObject]:
    """The pods of one controller."""
    spec = without_nulls(parse_object(controller.body, controller.title)).get("spec") or {}
    template = spec.get("template")
    if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
        raise InputError(f"{controller.title}: spec.template", template, "the pod to make")
    meta = template.get("metadata") or {}
    owner, checked = _owner(controller), False
    for name, more in _MAKERS[controller.kind](_Controller(controller, spec, nodes)):
        metadata = {
            "name": name,
            "namespace": controller.namespace,
            "labels": meta.get("labels") or {},
            "annotations": meta.get("annotations") or {},
            "ownerReferences": [owner],
        }
        body = msgspec.json.encode(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": metadata,
                "spec": {**template["spec"], **more},
            }
        )
        if not checked:
            with inside(f"{controller.title}: spec.template"):
                validate(decode(kinds.POD, body))
            checked = True
        yield InputObject(kinds.POD, controller.namespace, name, body, controller.where)


def _owner(controller: InputObject) -> JsonObject:
    """The owner reference of the pods; the ReplicaSet's for a Deployment."""
    kind, name = controller.kind, controller.name
    uid = controller.meta().uid
    if kind is kinds.DEPLOYMENT:
        kind, name, uid = kinds.REPLICA_SET, f"{name}-{_digest(controller)[:8]}", ""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": name,
        "uid": uid or _uid(controller),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _replicas(controller: _Controller) -> Iterator[_MadePod]:
    """Deployment, ReplicaSet, ReplicationController, Job: name suffix of hash and number."""
    item = controller.item
    short = _digest(item)[: 8 if item.kind is kinds.DEPLOYMENT else 5]
    for number in range(_wanted(item)):
        yield f"{item.name}-{short}-{number}", {}


def _stateful(controller: _Controller) -> Iterator[_MadePod]:
    """StatefulSet: the ordinal as name suffix."""
    item, ordinals = controller.item, controller.spec.get("ordinals") or {}
    first = ordinals.get("start", 0) if isinstance(ordinals, dict) else 0
    if not isinstance(first, int) or not 0 <= first <= MAX_REPLICAS:
        raise InputError(f"{item.title}: spec.ordinals.start", first, "a number of 0 or more")
    for number in range(_wanted(item)):
        yield f"{item.name}-{first + number}", {}


def _daemons(controller: _Controller) -> Iterator[_MadePod]:
    """DaemonSet: one pod pinned to each node that its template allows."""
    given, where = controller.spec["template"]["spec"], f"{controller.item.title}: spec.template"
    given = {**given, "tolerations": [*(given.get("tolerations") or ()), *_BORNE]}
    pod = decode_as(PodSpec, msgspec.json.encode(given), f"{where}.spec")
    affinity = pod.affinity.node_affinity if pod.affinity else None
    required = affinity.required if affinity else None
    terms = node_terms(required, f"{where}.spec.affinity")
    for node in controller.nodes:
        name, labels = node.metadata.name, node.metadata.labels
        wanted = pod.node_selector.items() <= labels.items()
        if not wanted or (required and not any(term.matches(name, labels) for term in terms)):
            continue
        if all(
            taint.effect == "PreferNoSchedule"
            or any(
                _tolerates(each, taint.key, taint.value, taint.effect) for each in pod.tolerations
            )
            for taint in node.spec.taints
        ):
            more = {"affinity": _pinned(given, name), "tolerations": given["tolerations"]}
            yield f"{controller.item.name}-{_hash(name)[:5]}", more


def _pinned(spec: JsonObject, node: str) -> JsonObject:
    """A pod's affinity to its node only, as the DaemonSet controller writes it."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    required = {"nodeSelectorTerms": [term]}
    affinity: JsonObject = dict(spec.get("affinity") or {})
    affinity["nodeAffinity"] = {
        **(affinity.get("nodeAffinity") or {}),
        "requiredDuringSchedulingIgnoredDuringExecution": required,
    }
    return affinity


def _tolerates(toleration: Toleration, key: str, value: str, effect: str) -> bool:
    """Whether a toleration matches a taint."""
    if toleration.effect not in ("", effect) or toleration.key not in ("", key):
        return False
    return toleration.operator == "Exists" or (
        bool(toleration.key) and toleration.value == value and toleration.operator in ("", "Equal")
    )


def _wanted(controller: InputObject) -> int:
    """The desired number of pods of a controller."""
    item: Any = decode(controller.kind, controller.body)
    if controller.kind is kinds.JOB and item.spec.suspend:
        return 0
    count = int(item.spec.wanted())
    if not 0 <= count <= MAX_REPLICAS:
        raise InputError(f"{controller.title}: spec", count, f"0..{MAX_REPLICAS} pods")
    return count


def _digest(controller: InputObject) -> str:
    """A hash of a controller's identity: equal in each run, different for each controller."""
    return _hash(f"{controller.kind.kind}/{controller.namespace}/{controller.name}")


def _hash(text: str) -> str:
    """A stable hash in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def _uid(controller: InputObject) -> str:
    """A uid, in the form of a UUID, for a controller without one."""
    text = _digest(controller)
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:32]}"


_Maker = Callable[[_Controller], Iterator[_MadePod]]

_MAKERS: Final[dict[Kind, _Maker]] = {
    kinds.DEPLOYMENT: _replicas,
    kinds.REPLICA_SET: _replicas,
    kinds.REPLICATION_CONTROLLER: _replicas,
    kinds.STATEFUL_SET: _stateful,
    kinds.JOB: _replicas,
    kinds.DAEMON_SET: _daemons,
}
"""The supported controllers."""
