"""Heads: the few fields of an object that scheduling reads of every pod, decoded once.

Most of a pod of 2.8 kB is text that scheduling never reads (environment, probes, managed fields).
Decoding all of it costs 10 kB of memory and tens of microseconds. A head decodes only identity and
scheduling fields and keeps each scheduling sub-tree as raw bytes. These bytes are also the key by
which equal pods are interned (``state.classes.table``). The full struct is decoded only on demand.
"""

from typing import Final

import msgspec

from stretto.api.types.workload_groups import MARK
from stretto.base.errors import InputError

ENDED: Final = ("Succeeded", "Failed")
"""Phases of a pod that has ended."""

NO_BYTES: Final = msgspec.Raw()
"""An absent sub-tree: the empty raw value."""
DISRUPTION_TARGET: Final = "DisruptionTarget"
"""Condition of a pod that ends because of a decision about the cluster, such as an eviction."""
GROUP_NOTE: Final = "godel.bytedance.com/pod-group-name"
"""Label or annotation with the PodGroup of a pod, in its namespace."""
_NO_GATES: Final = (b"", b"[]", b"null")


class MetaHead(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Identity and bookkeeping of an object."""

    #: Name, unique within kind and namespace; empty when ``generate_name`` is set.
    name: str = ""
    #: Prefix from which the store generates a name when ``name`` is empty.
    generate_name: str = ""
    #: Namespace; empty for cluster-scoped kinds.
    namespace: str = ""
    #: Identity for life; empty until the store assigns one.
    uid: str = ""
    #: Opaque version of the stored object; empty in manifests.
    resource_version: str = ""
    #: Labels as raw JSON, reduced later to the keys that selectors use.
    labels: msgspec.Raw = NO_BYTES
    #: Annotations as raw JSON, searched for known keys before parsing.
    annotations: msgspec.Raw = NO_BYTES
    #: Owners as raw JSON, parsed when units are built.
    owner_references: msgspec.Raw = NO_BYTES
    #: RFC 3339 time of creation; absent until the store sets one.
    creation_timestamp: str | None = None
    #: RFC 3339 time of the deletion request; absent without one.
    deletion_timestamp: str | None = None


class ContainerHead(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Requirements of a container."""

    #: Requests and limits as raw JSON.
    resources: msgspec.Raw = NO_BYTES
    #: Container ports as raw JSON; scheduling reads those with a host port.
    ports: msgspec.Raw = NO_BYTES
    #: Image reference, for image locality.
    image: str = ""
    #: ``Always`` on an init container makes it a sidecar.
    restart_policy: str | None = None


class PodSpecHead(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Scheduling fields of the spec of a pod; raw sub-trees serve as interning keys."""

    #: Node to which the pod is bound; empty while pending.
    node_name: str = ""
    #: Scheduler that places the pod.
    scheduler_name: str = ""
    #: Resolved priority; absent means the default of the profile.
    priority: int | None = None
    #: Name of the pod's PriorityClass.
    priority_class_name: str = ""
    #: ``Never`` forbids preemption by the pod.
    preemption_policy: str | None = None
    #: Node selector as raw JSON.
    node_selector: msgspec.Raw = NO_BYTES
    #: Node affinity, pod affinity and anti-affinity as raw JSON.
    affinity: msgspec.Raw = NO_BYTES
    #: Tolerations as raw JSON.
    tolerations: msgspec.Raw = NO_BYTES
    #: Topology spread constraints as raw JSON.
    topology_spread_constraints: msgspec.Raw = NO_BYTES
    #: Containers with their requirements.
    containers: tuple[ContainerHead, ...] = ()
    #: Init containers; sidecars count like containers.
    init_containers: tuple[ContainerHead, ...] = ()
    #: Overhead of the runtime class as raw JSON.
    overhead: msgspec.Raw = NO_BYTES
    #: Pod-level requests and limits as raw JSON.
    resources: msgspec.Raw = NO_BYTES
    #: Scheduling gates as raw JSON; a gated pod is not scheduled.
    scheduling_gates: msgspec.Raw = NO_BYTES
    #: Volumes as raw JSON, with the PVCs of the pod.
    volumes: msgspec.Raw = NO_BYTES
    #: Group of scheduling.k8s.io to which the pod belongs, as raw JSON.
    scheduling_group: msgspec.Raw = NO_BYTES
    #: Claims of devices as raw JSON.
    resource_claims: msgspec.Raw = NO_BYTES
    #: True if containers use the network of the node: every container port is a host port.
    host_network: bool = False

    @property
    def is_gated(self) -> bool:
        """Return whether the pod has a scheduling gate."""
        gates = self.scheduling_gates
        return gates is not NO_BYTES and bytes(gates) not in _NO_GATES


class SchedulingGroup(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The group of scheduling.k8s.io to which a pod belongs."""

    #: Its name, in the namespace of the pod.
    pod_group_name: str = ""


class PodStatusHead(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Scheduling fields of the status of a pod."""

    #: ``Pending``, ``Running``, ``Succeeded``, ``Failed`` or ``Unknown``.
    phase: str = ""
    #: Node nominated for a preemptor until its victims are gone.
    nominated_node_name: str = ""
    #: RFC 3339 time at which the node started the pod.
    start_time: str | None = None


NO_STATUS: Final = PodStatusHead()


class PodHead(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A pod, as decoded first by the engine."""

    #: Identity.
    metadata: MetaHead
    #: Scheduling fields.
    spec: PodSpecHead
    #: Phase and nomination.
    status: PodStatusHead = NO_STATUS


class ObjectHead(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Identity of any other object."""

    #: Identity.
    metadata: MetaHead
    #: API group and version as in the object.
    api_version: str = ""
    #: Kind as in the object.
    kind: str = ""


class ImageReference(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """An image that serves as a volume."""

    #: The image.
    reference: str = ""


class ImageVolume(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A volume of a pod, if it is an image."""

    #: The image; absent for any other source.
    image: ImageReference | None = None


def images_key(head: PodHead) -> bytes:
    """Images of the containers and volumes of a pod, in order."""
    spec = head.spec
    own = "\0".join([each.image for each in (*spec.init_containers, *spec.containers)]).encode()
    mounted = mounted_images(head)
    return own if not mounted else own + "\0\0".join(("", *mounted)).encode()


def image_names(head: PodHead) -> tuple[str, ...]:
    """Full names of the images of the containers of a pod, sorted, with repetitions."""
    spec = head.spec
    names = [image_name(each.image) for each in (*spec.init_containers, *spec.containers)]
    return tuple(sorted(names))


def mounted_images(head: PodHead) -> tuple[str, ...]:
    """Full names of the images that are volumes of a pod, sorted."""
    volumes = head.spec.volumes
    if volumes is NO_BYTES or b'"image"' not in bytes(volumes):
        return ()
    try:
        found = _IMAGE_VOLUMES.decode(volumes) or ()
    except msgspec.DecodeError:
        return ()
    return tuple(sorted(image_name(each.image.reference) for each in found if each.image))


def image_name(name: str) -> str:
    """The name of an image with its tag, ``latest`` by default."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


_IMAGE_VOLUMES: Final = msgspec.json.Decoder(tuple[ImageVolume, ...] | None)
_POD_DECODER: Final = msgspec.json.Decoder(PodHead)
_OBJECT_DECODER: Final = msgspec.json.Decoder(ObjectHead)


def decode_pod_head(body: bytes) -> PodHead:
    """The head of a pod.

    Raises:
        InputError: the JSON or a field is malformed.
    """
    try:
        head = _POD_DECODER.decode(body)
        return _grouped(head) if head.spec.scheduling_group is not NO_BYTES else head
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise unreadable("pod", error) from error


def _grouped(head: PodHead) -> PodHead:
    """Rewrite ``spec.schedulingGroup`` as the annotation of groups here."""
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
    """The head of any object.

    Raises:
        InputError: the JSON or a field is malformed.
    """
    try:
        return _OBJECT_DECODER.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise unreadable("object", error) from error


def unreadable(what: str, error: Exception) -> InputError:
    """Convert an error of the decoder to an InputError; msgspec ends its messages with the path."""
    text = str(error) if not isinstance(error, RecursionError) else "nested too deeply"
    complaint, _, path = text.partition(" - at `$")
    where = f"{what}{path.rstrip('`')}" if path else what
    return InputError(where, None, f"a well-formed {what}: {complaint}")
