"""Classes: all pods whose scheduling-relevant spec is the same.

Interning has two steps. The raw bytes of the scheduling sub-trees, as they came, are looked up
first: pods of one template hit here for the price of one hash. On a miss the spec is decoded in
full and brought into a canonical form (sorted, quantities as integers), so that a different order
of fields or a differently spelt quantity still finds the same class. Pins (node name) and what is
the pod's own (name, labels, volumes' claims) are no part of a class; what labels mean to other
pods' rules is, as ``ClassTerms`` (``state.affinity.index`` derives such classes).

Ids are small integers that columns hold; one whose last pod has gone may be given again, and the
class's serial tells the users apart.
"""

import re
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.api.codec import decode_as
from stretto.api.types.effective_requests import HostPort, host_ports, requests, running_requests
from stretto.api.types.heads import (
    NO_BYTES,
    MetaHead,
    PodHead,
    decode_pod_head,
    image_names,
    images_key,
    mounted_images,
)
from stretto.api.types.pod import Pod, PodResourceClaim, PodSpec
from stretto.base.errors import InputError
from stretto.state.classes.annotations import (
    NO_ANNOTATIONS,
    PodAnnotations,
    annotations_of,
    has_annotations,
    own_annotations,
)
from stretto.state.classes.resizing import spec_as_reported
from stretto.state.classes.template_key import SHARED_BODIES
from stretto.state.classes.terms import NO_CLASS_TERMS, ClassTerms, has_pod_terms
from stretto.state.rows.devices import MAX_DEVICES, WHOLE, DeviceRequest
from stretto.state.rows.resources import (
    FIRST_NAMES,
    PODS,
    ResourceColumns,
    check_amounts,
    from_pool,
)

GPU: Final = "nvidia.com/gpu"
"""Resource whose pieces are managed as devices by default."""
GPU_MILLI: Final = "stretto.dev/gpu-milli"
"""Annotation: milli of each GPU asked for (default 1000, whole)."""
GPU_MODELS: Final = "stretto.dev/gpu-models"
"""Annotation: allowed GPU models, joined by ``|``."""
GPU_DEVICES: Final = "stretto.dev/gpu-devices"
"""Annotation written with the bind: the chosen devices, such as ``0,3``."""

CLASS_LIMIT: Final = 50_000
"""Classes kept with no pod left before the least recently used are forgotten."""
STAGED: Final = 2
"""Bit of ``PodClasses.special``: NUMA nodes, kept places or caps have a say in where a pod goes."""
PORTS_ONLY: Final = 4
"""Bit of ``PodClasses.special``: beside amounts a claim needs host ports and nothing else."""
NUMA_ONLY: Final = 8
"""Bit of ``PodClasses.special``: beside amounts a claim takes NUMA nodes and nothing else."""
BYTES_LIMIT: Final = 100_000
"""Entries of the cache from raw bytes to classes; it is emptied when full."""

_OWN_ANNOTATIONS: Final = b"stretto.dev/gpu-m"
_SEPARATOR: Final = b"\x00"
_ANNOTATIONS: Final = msgspec.json.Decoder(dict[str, str] | None)
_MILLI: Final = re.compile("[1-9][0-9]{0,3}")
_CLAIMED: Final = (PodResourceClaim("any"),)
"""What a class keeps of claims of devices: that there are some."""


Form = tuple[bytes, ClassTerms]
"""What tells classes apart: the canonical spec, and what is wanted of other pods."""


class PodClass(msgspec.Struct, frozen=True, eq=False):
    """What all pods of a class ask for."""

    #: Small integer that columns hold.
    id: int
    #: Number of this class; never given twice, while ids are.
    serial: int
    #: The scheduling-relevant spec, decoded in full.
    spec: PodSpec
    #: Exact amounts asked for, as (resource column, amount), devices left out.
    requests: tuple[tuple[int, int], ...]
    #: Host ports asked for.
    ports: tuple[HostPort, ...]
    #: Devices asked for.
    devices: tuple[DeviceRequest, ...]
    #: What its annotations ask of NUMA nodes, rules and places.
    asks: PodAnnotations = NO_ANNOTATIONS
    #: What it wants of other pods, and where its pods count.
    wants: ClassTerms = NO_CLASS_TERMS
    #: Full names of its containers' images, sorted; empty while no node reports any.
    images: tuple[str, ...] = ()
    #: Full names of the images that are its volumes, sorted; empty likewise.
    mounts: tuple[str, ...] = ()


class PodClasses:
    """The table of classes."""

    def __init__(self, resources: ResourceColumns, device_kinds: tuple[str, ...] = (GPU,)) -> None:
        """Start empty, over the resource names of a ledger."""
        #: Names of resources that are managed device by device.
        self.device_kinds: frozenset[str] = frozenset(device_kinds)
        #: Live pods by class id.
        self.users: list[int] = []
        self._resources = resources
        self._by_id: list[PodClass | None] = []
        self._by_bytes: dict[bytes, int] = {}
        #: How many classes were forgotten so far; their ids may mean others since.
        self.forgotten: int = 0
        self._by_form: dict[Form, int] = {}
        self._forms: list[Form] = []
        self._unused: dict[int, None] = {}
        self._free_ids: list[int] = []
        self._next_serial = 1
        self._by_body: dict[bytes, int] = {}
        #: Whether the images of pods are part of their classes.
        self.by_image = False
        self._asks: npt.NDArray[np.int64] = np.zeros((64, 8), np.int64)
        #: uint8[class]: not 0 where a claim needs more than amounts; ``STAGED`` is set where it is
        #: not placed by score alone.
        self.special: npt.NDArray[np.uint8] = np.zeros(64, np.uint8)
        #: uint8[class]: 1 where the spec says anything of other pods.
        self.social: npt.NDArray[np.uint8] = np.zeros(64, np.uint8)
        #: uint8[class]: 1 where some rule counts its pods.
        self.counted: npt.NDArray[np.uint8] = np.zeros(64, np.uint8)
        #: uint8[class]: 1 where other pods matter to where its pods may go.
        self.judged: npt.NDArray[np.uint8] = np.zeros(64, np.uint8)
        #: int64[class]: serial of the class that uses an id now; 0 when none does.
        self.serials: npt.NDArray[np.int64] = np.zeros(64, np.int64)

    def __len__(self) -> int:
        """Ids ever given; some may be free now."""
        return len(self._by_id)

    def __getitem__(self, class_id: int) -> PodClass:
        """The class of an id."""
        found = self._by_id[class_id]
        if found is None:
            raise KeyError(class_id)
        return found

    def serial(self, class_id: int) -> int:
        """Serial of the class that uses an id now; 0 when none does."""
        found = self._by_id[class_id]
        return found.serial if found is not None else 0

    def intern(self, head: PodHead, body: bytes, told: bytes = b"") -> int:
        """The class id of a pod.

        Args:
            head: the decoded head.
            body: the JSON the head was decoded from (decoded in full on a miss).
            told: what its node says of its resources (``state.classes.resizing``); empty: the spec
            counts.

        Raises:
            InputError: the spec cannot be read; nothing is kept.
        """
        spec, meta = head.spec, head.metadata
        key = [
            spec.node_selector,
            spec.affinity,
            spec.tolerations,
            spec.topology_spread_constraints,
            spec.overhead,
            spec.resources,
            b"1" if spec.host_network else b"0",
            _placement_annotations(meta),
        ]
        for container in spec.containers:
            key.append(container.resources)
            key.append(container.ports)
        for container in spec.init_containers:
            key.append(b"i" if container.restart_policy is None else b"s")
            key.append(container.resources)
            key.append(container.ports)
        if spec.resource_claims is not NO_BYTES:
            key.append(b"c" + bytes(spec.resource_claims))
        if self.by_image:
            key.append(images_key(head))
        if told:
            key.append(told)
        raw = _SEPARATOR.join(key)
        found = self._by_bytes.get(raw)
        if found is None:
            found = self._intern_form(head, body, running=bool(told))
            if len(self._by_bytes) >= BYTES_LIMIT:
                self._by_bytes.clear()
            self._by_bytes[raw] = found
        return found

    def include_images(self) -> None:
        """From now on the images of pods are part of their classes."""
        self.by_image = True
        self._by_bytes.clear()
        self._by_body.clear()

    def intern_shared(self, head: PodHead | None, body: bytes) -> int:
        """The class of a running pod whose body many share: Python keeps the hash of ``body``."""
        found = self._by_body.get(body)
        if found is None:
            head = head if head is not None else decode_pod_head(body)
            found = self.intern(head, body, spec_as_reported(body, head))
            if len(self._by_body) >= SHARED_BODIES:
                self._by_body.clear()
            self._by_body[body] = found
        return found

    def asks(self, class_ids: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """int64[k, resource]: exact amounts of each class, the pod's own place included."""
        return self._asks[class_ids]

    def use(self, class_id: int, count: int = 1) -> None:
        """Count pods of a class that came."""
        self.users[class_id] += count
        self._unused.pop(class_id, None)

    def leave(self, class_id: int) -> None:
        """Count a pod of a class that went; beyond the limit the oldest unused is forgotten."""
        self.users[class_id] -= 1
        if self.users[class_id] == 0:
            self._unused[class_id] = None
            if len(self._unused) > CLASS_LIMIT:
                self._forget(next(iter(self._unused)))

    def derive(self, class_id: int, wants: ClassTerms) -> int:
        """The class of the same spec with other wants."""
        form = self._forms[class_id][0]
        found = self._by_form.get((form, wants))
        if found is not None:
            return found
        return self._add(msgspec.structs.replace(self[class_id], wants=wants), form)

    def is_of(self, class_id: int, spec_class: int) -> bool:
        """Whether a class has the same spec as another, whatever it wants of other pods."""
        return self._forms[class_id][0] == self._forms[spec_class][0]

    def move(self, before: npt.NDArray[np.int32], after: npt.NDArray[np.int32]) -> None:
        """Count pods that changed their classes."""
        for class_id, count in zip(*np.unique(after, return_counts=True), strict=True):
            self.use(int(class_id), int(count))
        for class_id, count in zip(*np.unique(before, return_counts=True), strict=True):
            self.users[class_id] -= int(count) - 1
            self.leave(int(class_id))

    def scaled_requests(self, class_id: int) -> list[tuple[int, int]]:
        """Requests in scan steps, rounded up."""
        scale = self._resources.scaled_request
        return [(column, scale(column, amount)) for column, amount in self[class_id].requests]

    def _intern_form(self, head: PodHead, body: bytes, *, running: bool) -> int:
        made = self._build(head, body, running=running)
        images = made.images, made.mounts
        parts = [made.requests, made.ports, made.devices, made.spec, made.annotations, images]
        form = msgspec.json.encode(parts, order="sorted")
        found = self._by_form.get((form, NO_CLASS_TERMS))
        if found is not None:
            return found
        return self._add(made, form)

    def _add(self, made: PodClass, form: bytes) -> int:
        """Give a class an id."""
        class_id = self._free_ids.pop() if self._free_ids else len(self._by_id)
        made = msgspec.structs.replace(made, id=class_id, serial=self._next_serial)
        self._next_serial += 1
        if class_id == len(self._by_id):
            self._by_id.append(made)
            self._forms.append((form, made.terms))
            self.users.append(0)
        else:
            self._by_id[class_id] = made
            self._forms[class_id] = (form, made.terms)
        self._by_form[form, made.terms] = class_id
        self._unused[class_id] = None
        self._note_amounts(made)
        return class_id

    def _note_amounts(self, pod: PodClass) -> None:
        rows, width = self._asks.shape
        if pod.id >= rows or len(self._resources) > width:
            length = rows if pod.id < rows else 2 * (pod.id + 1)
            wide = width if len(self._resources) <= width else len(self._resources) + 8
            more = np.zeros((length, wide), np.int64)
            more[:rows, :width] = self._asks
            self._asks = more
            longer = np.zeros(length - rows, np.uint8)
            self.special = np.concatenate([self.special, longer])
            self.social = np.concatenate([self.social, longer])
            self.counted = np.concatenate([self.counted, longer])
            self.judged = np.concatenate([self.judged, longer])
            self.serials = np.concatenate([self.serials, longer.astype(np.int64)])
        self._asks[pod.id] = 0
        for column, amount in pod.requests:
            self._asks[pod.id, column] = amount
        self._asks[pod.id, PODS] = 1
        self.serials[pod.id] = pod.serial
        self.social[pod.id] = has_pod_terms(pod.spec)
        self.counted[pod.id] = bool(pod.terms.counted)
        self.judged[pod.id] = pod.terms.judged
        self.special[pod.id] = bool(pod.ports or pod.devices) | STAGED * pod.annotations.staged
        if pod.ports and self.special[pod.id] == 1 and not pod.devices:
            self.special[pod.id] |= PORTS_ONLY
        if pod.annotations.numa is not None and not (pod.ports or pod.devices):
            self.special[pod.id] |= NUMA_ONLY

    def _build(self, head: PodHead, body: bytes, *, running: bool) -> PodClass:
        pod = decode_as(Pod, body, "pod")
        spec, ports = pod.spec, host_ports(pod.spec)
        amounts = running_requests(pod) if running else requests(spec)
        amounts.pop(FIRST_NAMES[PODS], None)  # its own place is counted anyway
        check_amounts(amounts, f"{_name(head.metadata)}, requests")
        devices = tuple(
            _device_request(kind, amounts.pop(kind), head.metadata)
            for kind in sorted(self.device_kinds & amounts.keys())
        )
        asks = annotations_of(head.metadata)
        if asks.best_effort and self._resources.pools:
            amounts = from_pool(amounts)
        column, where = self._resources.requested, f"{_name(head.metadata)}, requests"
        asked = tuple(sorted((column(name, where), n) for name, n in amounts.items() if n))
        return PodClass(
            id=-1,
            serial=0,
            spec=_placement_spec(spec),
            requests=asked,
            ports=tuple(sorted(ports)),
            devices=tuple(request for request in devices if request.count),
            asks=asks,
            images=image_names(head) if self.by_image else (),
            mounts=mounted_images(head) if self.by_image else (),
        )

    def _forget(self, class_id: int) -> None:
        del self._unused[class_id]
        self.forgotten += 1
        self._by_form.pop(self._forms[class_id], None)
        self._by_id[class_id] = None
        self._forms[class_id] = (b"", NO_CLASS_TERMS)
        self.serials[class_id] = 0
        self._by_bytes.clear()
        self._by_body.clear()
        self._free_ids.append(class_id)


def decode_spec(body: bytes) -> PodSpec:
    """The scheduling-relevant spec of a pod's JSON.

    Raises:
        InputError: a field cannot be read; says which.
    """
    return decode_as(Pod, body, "pod").spec


def _placement_spec(spec: PodSpec) -> PodSpec:
    """What rules read of a spec: nothing that is the pod's own or counted already."""
    return PodSpec(
        node_selector=spec.node_selector,
        affinity=spec.affinity,
        tolerations=spec.tolerations,
        topology_spread_constraints=spec.topology_spread_constraints,
        resource_claims=_CLAIMED if spec.resource_claims else (),
    )


def _name(meta: MetaHead) -> str:
    """A pod in messages."""
    return f"pod {meta.namespace}/{meta.name}"


def _placement_annotations(meta: MetaHead) -> bytes:
    """The annotations that change what a pod asks, as they came; mostly nothing."""
    if meta.annotations is NO_BYTES:
        return b""
    raw = bytes(meta.annotations)
    if has_annotations(raw):
        return own_annotations(raw) + (raw if _OWN_ANNOTATIONS in raw else b"")
    return raw if _OWN_ANNOTATIONS in raw else b""


def _device_request(kind: str, count: int, meta: MetaHead) -> DeviceRequest:
    """What a pod asks of one device kind; shares and models come from its annotations."""
    notes = _ANNOTATIONS.decode(meta.annotations) or {} if meta.annotations is not NO_BYTES else {}
    pod = _name(meta)
    if not 0 <= count <= MAX_DEVICES:
        raise InputError(f"{pod}, requests {kind}", count, f"0 to {MAX_DEVICES} devices of a node")
    text = notes.get(GPU_MILLI, str(WHOLE))
    where = f"{pod}, annotation {GPU_MILLI}"
    if not _MILLI.fullmatch(text) or int(text) > WHOLE:
        raise InputError(where, text, f"an integer from 1 to {WHOLE}")
    if int(text) < WHOLE and count != 1:
        raise InputError(where, text, f"{WHOLE}, or one device only (the pod asks {count})")
    models = tuple(sorted(filter(None, notes.get(GPU_MODELS, "").split("|"))))
    return DeviceRequest(kind, count, int(text), models)
