"""Pods that each controller creates from its template: names, labels, fields and PVCs."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec

from stretto.api.admission.pvcs import stateful_pvcs
from stretto.api.admission.request import JsonObject
from stretto.api.admission.tolerations import daemon_tolerations
from stretto.api.codec import decode_as
from stretto.api.types.core import Node
from stretto.api.types.pod import PodSpec, Toleration
from stretto.api.wire import kinds
from stretto.api.wire.generated_names import hash_label, prefix_of, suffix_of
from stretto.api.wire.selectors import node_terms
from stretto.base.errors import InputError
from stretto.inputs.objects.relations import InputObject

MAX_REPLICAS: Final = 1_000_000
"""Maximum number of pods of one controller, which is that of the largest cluster of the design."""
_INDEX: Final = "batch.kubernetes.io/job-completion-index"


class MadePod(msgspec.Struct, frozen=True):
    """Differences of one pod of a controller from the template."""

    #: Its name.
    name: str
    #: Labels in addition to those of the template.
    labels: JsonObject = {}
    #: Annotations in addition to those of the template.
    annotations: JsonObject = {}
    #: Fields that replace those of the template's spec.
    spec: JsonObject = {}
    #: PVCs that the controller creates before the pod.
    pvcs: Sequence[JsonObject] = ()


class Controller(msgspec.Struct, frozen=True):
    """A controller with the inputs of its pods."""

    #: The controller's own object.
    item: InputObject
    #: The parsed object.
    body: JsonObject
    #: The nodes of the cluster.
    nodes: Sequence[Node]

    @property
    def spec(self) -> JsonObject:
        """Its spec."""
        found: JsonObject = self.body["spec"]
        return found

    @property
    def hash(self) -> str:
        """The hash of its template, as a label."""
        return hash_label(self.spec["template"], self.item.name)


def template_spec(controller: Controller) -> JsonObject:
    """The spec of the template; a DaemonSet adds tolerations."""
    spec: JsonObject = controller.spec["template"]["spec"]
    if controller.item.kind == kinds.DAEMON_SET:
        return {**spec, "tolerations": daemon_tolerations(spec)}
    return spec


def _replicas(controller: Controller) -> Iterator[MadePod]:
    """Deployment, ReplicaSet, ReplicationController: the template's hash and a random suffix."""
    item, labels, prefix = controller.item, {}, controller.item.name
    if item.kind is kinds.DEPLOYMENT:
        prefix = f"{prefix}-{controller.hash}"
        labels = {"pod-template-hash": controller.hash}
    for number in range(_wanted(item, controller.spec)):
        yield MadePod(f"{prefix_of(prefix)}{suffix_of(prefix, number)}", labels)


def _jobs(controller: Controller) -> Iterator[MadePod]:
    """Job: a random suffix, after the completion index if the Job has indexes."""
    name, indexed = controller.item.name, controller.spec.get("completionMode") == "Indexed"
    for number in range(_wanted(controller.item, controller.spec)):
        tail = suffix_of(name, number)
        if not indexed:
            yield MadePod(f"{prefix_of(name)}{tail}")
            continue
        index = {_INDEX: str(number)}
        host = {"hostname": f"{name}-{number}"}
        yield MadePod(f"{prefix_of(name, f'-{number}-')}{tail}", index, index, host)


def _stateful(controller: Controller) -> Iterator[MadePod]:
    """StatefulSet: the ordinal as name suffix, and the PVCs of the pod."""
    item, spec = controller.item, controller.spec
    ordinals = spec.get("ordinals") or {}
    first = ordinals.get("start", 0) if isinstance(ordinals, dict) else 0
    if not isinstance(first, int) or not 0 <= first <= MAX_REPLICAS:
        raise InputError(f"{item.title}: spec.ordinals.start", first, "a number of 0 or more")
    given = spec["template"]["spec"].get("volumes") or []
    for number in range(first, first + _wanted(item, spec)):
        name = f"{item.name}-{number}"
        labels = {
            "statefulset.kubernetes.io/pod-name": name,
            "apps.kubernetes.io/pod-index": str(number),
            "controller-revision-hash": f"{item.name}-{controller.hash}",
        }
        pvcs = stateful_pvcs(controller.body, number)
        own = {volume for volume, _ in pvcs}
        volumes = [_pvc_volume(volume, pvc) for volume, pvc in pvcs]
        volumes += [each for each in given if each.get("name") not in own]
        more: JsonObject = {"hostname": name, "subdomain": spec.get("serviceName") or ""}
        if volumes:
            more["volumes"] = volumes
        yield MadePod(name, labels, {}, more, [pvc for _, pvc in pvcs])


def _pvc_volume(volume: str, pvc: JsonObject) -> JsonObject:
    """A volume of a pod that is a PVC."""
    return {"name": volume, "persistentVolumeClaim": {"claimName": pvc["metadata"]["name"]}}


def _daemons(controller: Controller) -> Iterator[MadePod]:
    """DaemonSet: one pod pinned to each node that its template allows."""
    item, given = controller.item, template_spec(controller)
    where = f"{item.title}: spec.template"
    pod = decode_as(PodSpec, msgspec.json.encode(given), f"{where}.spec")
    affinity = pod.affinity.node_affinity if pod.affinity else None
    required = affinity.required if affinity else None
    terms = node_terms(required, f"{where}.spec.affinity")
    labels = {"controller-revision-hash": controller.hash, "pod-template-generation": "1"}
    for number, node in enumerate(controller.nodes):
        name, has = node.metadata.name, node.metadata.labels
        wanted = pod.node_selector.items() <= has.items()
        if not wanted or (required and not any(term.matches(name, has) for term in terms)):
            continue
        if all(
            taint.effect == "PreferNoSchedule"
            or any(
                _tolerates(each, taint.key, taint.value, taint.effect) for each in pod.tolerations
            )
            for taint in node.spec.taints
        ):
            more = {"affinity": _pinned(given, name)}
            yield MadePod(f"{prefix_of(item.name)}{suffix_of(item.name, number)}", labels, {}, more)


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
    """True if a toleration matches a taint."""
    if toleration.effect not in ("", effect) or toleration.key not in ("", key):
        return False
    return toleration.operator == "Exists" or (
        bool(toleration.key) and toleration.value == value and toleration.operator in ("", "Equal")
    )


def _wanted(item: InputObject, spec: JsonObject) -> int:
    """The desired number of pods of a controller, after its defaults."""
    count: Any = spec.get("replicas", 1)
    if item.kind is kinds.JOB:
        completions = spec.get("completions")
        count = spec["parallelism"]
        if completions is not None:
            count = min(count, completions)
        if spec.get("suspend"):
            return 0
    if not isinstance(count, int) or not 0 <= count <= MAX_REPLICAS:
        raise InputError(f"{item.title}: spec", count, f"0..{MAX_REPLICAS} pods")
    return count


MAKERS: Final[dict[kinds.Kind, Callable[[Controller], Iterator[MadePod]]]] = {
    kinds.DEPLOYMENT: _replicas,
    kinds.REPLICA_SET: _replicas,
    kinds.REPLICATION_CONTROLLER: _replicas,
    kinds.STATEFUL_SET: _stateful,
    kinds.JOB: _jobs,
    kinds.DAEMON_SET: _daemons,
}
"""Functions that create the pods of the supported controllers."""
