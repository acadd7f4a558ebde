"""Heads: the few fields of an object that every pod's walk needs, decoded once.

A pod of 2.8 kB is mostly text that scheduling never reads (environment, probes, managed fields).
Decoding all of it costs 10 kB of memory and tens of microseconds; a head types only identity and
scheduling fields and leaves each scheduling sub-tree as raw bytes, which double as the key under
which equal pods are interned (``state.classes.table``). The full type is made only when asked for.
"""

from typing import Final

import msgspec

from stretto.api.types.workload_groups import MARK
from stretto.base.errors import InputError

NO_BYTES: Final = msgspec.Raw()
"""An absent sub-tree: the empty raw value."""
GROUP_NOTE: Final = "godel.bytedance.com/pod-group-name"
"""Label or annotation: the PodGroup of a pod, in its namespace."""
_NO_GATES: Final = (b"", b"[]", b"null")


class MetaHead(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Identity and bookkeeping of any object."""

    #: Name, unique within kind and namespace; empty when ``generate_name`` asks for one.
    name: str = ""
    #: Prefix from which the store makes a name when ``name`` is empty.
    generate_name: str = ""
    #: Namespace; empty for cluster-scoped kinds.
    namespace: str = ""
    #: Identity for life; empty before the store has given one.
    uid: str = ""
    #: Opaque version of the stored object; empty in manifests.
    resource_version: str = ""
    #: Labels as raw JSON, projected later to the keys that selectors use.
    labels: msgspec.Raw = NO_BYTES
    #: Annotations as raw JSON, searched for our own keys before they are parsed.
    annotations: msgspec.Raw = NO_BYTES
    #: Owners as raw JSON, parsed when units are formed.
    owner_references: msgspec.Raw = NO_BYTES
    #: RFC 3339 time of creation; absent before the store has set one.
    creation_timestamp: str | None = None
    #: RFC 3339 time at which deletion was asked for; absent while the object is wanted.
    deletion_timestamp: str | None = None


class ContainerHead(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What a container asks of its node."""

    #: Requests and limits as raw JSON.
    resources: msgspec.Raw = NO_BYTES
    #: Container ports as raw JSON; only those with a host port matter.
    ports: msgspec.Raw = NO_BYTES
    #: Image reference, for image locality.
    image: str = ""
    #: ``Always`` on an init container makes it a sidecar.
    restart_policy: str | None = None


class PodSpecHead(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The scheduling part of a pod's spec; sub-trees stay raw and serve as interning keys."""

    #: Node the pod is bound to; empty while pending.
    node_name: str = ""
    #: Scheduler that is asked to place the pod.
    scheduler_name: str = ""
    #: Resolved priority; absent means the profile's default.
    priority: int | None = None
    #: Name of the pod's PriorityClass.
    priority_class_name: str = ""
    #: ``Never`` forbids the pod to preempt others.
    preemption_policy: str | None = None
    #: Node selector as raw JSON.
    node_selector: msgspec.Raw = NO_BYTES
    #: Node, pod and pod-anti affinity as raw JSON.
    affinity: msgspec.Raw = NO_BYTES
    #: Tolerations as raw JSON.
    tolerations: msgspec.Raw = NO_BYTES
    #: Topology spread constraints as raw JSON.
    topology_spread_constraints: msgspec.Raw = NO_BYTES
    #: Containers, each with what it asks for.
    containers: tuple[ContainerHead, ...] = ()
    #: Init containers; sidecars among them count like containers.
    init_containers: tuple[ContainerHead, ...] = ()
    #: Pod overhead of the runtime class as raw JSON.
    overhead: msgspec.Raw = NO_BYTES
    #: Pod-level requests and limits as raw JSON.
    resources: msgspec.Raw = NO_BYTES
    #: Scheduling gates as raw JSON; a pod with one waits.
    scheduling_gates: msgspec.Raw = NO_BYTES
    #: Volumes as raw JSON; claims are found in them.
    volumes: msgspec.Raw = NO_BYTES
    #: The group of scheduling.k8s.io that the pod is part of, as raw JSON.
    scheduling_group: msgspec.Raw = NO_BYTES
    #: Claims of devices to be allocated, as raw JSON.
    resource_claims: msgspec.Raw = NO_BYTES
    #: Containers share the node's network, so that every container port is a host port.
    host_network: bool = False

    @property
    def is_gated(self) -> bool:
        """Whether a scheduling gate holds the pod."""
        gates = self.scheduling_gates
        return gates is not NO_BYTES and bytes(gates) not in _NO_GATES


class SchedulingGroup(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The group of scheduling.k8s.io that a pod is part of."""

    #: Its name, in the pod's namespace.
    pod_group_name: str = ""


class PodStatusHead(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The part of a pod's status that scheduling reads."""

    #: ``Pending``, ``Running``, ``Succeeded``, ``Failed`` or ``Unknown``.
    phase: str = ""
    #: Node kept for a preemptor while its victims leave.
    nominated_node_name: str = ""
    #: RFC 3339 time at which a node started the pod.
    start_time: str | None = None


NO_STATUS: Final = PodStatusHead()


class PodHead(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A pod as the engine first sees it."""

    #: Identity.
    metadata: MetaHead
    #: Scheduling fields.
    spec: PodSpecHead
    #: Phase and nomination.
    status: PodStatusHead = NO_STATUS


class ObjectHead(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Any other object: identity only."""

    #: Identity.
    metadata: MetaHead
    #: API group and version as written.
    api_version: str = ""
    #: Kind as written.
    kind: str = ""


class ImageReference(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """An image that is a volume."""

    #: The image.
    reference: str = ""


class ImageVolume(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A volume of a pod, as far as it may be an image."""

    #: The image it is; absent for any other volume.
    image: ImageReference | None = None


def images_key(head: PodHead) -> bytes:
    """The images of a pod's containers, and those that are its volumes, as they came."""
    spec = head.spec
    own = "\0".join([each.image for each in (*spec.init_containers, *spec.containers)]).encode()
    mounted = mounted_images(head)
    return own if not mounted else own + "\0\0".join(("", *mounted)).encode()


def image_names(head: PodHead) -> tuple[str, ...]:
    """The full names of the images of a pod's containers, sorted, each as often as it is used."""
    spec = head.spec
    names = [image_name(each.image) for each in (*spec.init_containers, *spec.containers)]
    return tuple(sorted(names))


def mounted_images(head: PodHead) -> tuple[str, ...]:
    """The full names of the images that are volumes of a pod, sorted."""
    volumes = head.spec.volumes
    if volumes is NO_BYTES or b'"image"' not in bytes(volumes):
        return ()
    try:
        found = _IMAGE_VOLUMES.decode(volumes) or ()
    except msgspec.DecodeError:
        return ()
    return tuple(sorted(image_name(each.image.reference) for each in found if each.image))


def image_name(name: str) -> str:
    """An image's name with its tag, ``latest`` where none is written."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


_IMAGE_VOLUMES: Final = msgspec.json.Decoder(tuple[ImageVolume, ...] | None)
_POD_DECODER: Final = msgspec.json.Decoder(PodHead)
_OBJECT_DECODER: Final = msgspec.json.Decoder(ObjectHead)


def decode_pod_head(body: bytes) -> PodHead:
    """The head of a pod's JSON; refuses malformed JSON or fields with an ``InputError``."""
    try:
        head = _POD_DECODER.decode(body)
        return _grouped(head) if head.spec.scheduling_group is not NO_BYTES else head
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise unreadable("pod", error) from error


def _grouped(head: PodHead) -> PodHead:
    """Write ``spec.schedulingGroup`` down as the annotation by which groups are known here."""
    group = msgspec.json.decode(head.spec.scheduling_group, type=SchedulingGroup | None)
    if group is None or not group.pod_group_name:
        return head
    meta = head.metadata
    notes = msgspec.json.decode(meta.annotations or b"null", type=dict[str, msgspec.Raw] | None)
    name = msgspec.json.encode(f"{group.pod_group_name}{MARK}")
    raw = msgspec.json.encode({**(notes or {}), GROUP_NOTE: msgspec.Raw(name)})
    meta = msgspec.structs.replace(meta, annotations=msgspec.Raw(raw))
    return msgspec.structs.replace(head, metadata=meta)


def decode_object_head(body: bytes) -> ObjectHead:
    """The head of any object's JSON; refuses malformed JSON with an ``InputError``."""
    try:
        return _OBJECT_DECODER.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise unreadable("object", error) from error


def unreadable(what: str, error: Exception) -> InputError:
    """A decoder's complaint as bad input: msgspec ends its messages with the field's path."""
    text = str(error) if not isinstance(error, RecursionError) else "nested too deeply"
    complaint, _, path = text.partition(" - at `$")
    where = f"{what}{path.rstrip('`')}" if path else what
    return InputError(where, None, f"a well-formed {what}: {complaint}")
