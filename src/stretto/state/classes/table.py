"""Classes: all pods with the same scheduling-relevant spec.

Interning has two steps. First the raw bytes of the scheduling sub-trees are looked up: for pods of
one template this succeeds at the cost of one hash. On a miss the spec is decoded completely and
converted to a canonical form (sorted, quantities as integers). Therefore a different order of
fields or another spelling of a quantity still leads to the same class. The node name and the pod's
own data (name, labels, PVCs) are not part of a class. The effect of labels on inter-pod rules is
part of it, as ``ClassTerms`` (``state.affinity.index`` derives such classes).

Ids are small integers for columns. An id may be reused after its last pod was removed; the class's
serial distinguishes its uses.
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
from stretto.state.classes.template_key import SHARED_BODIES, container_parts
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
"""Resource managed device by device by default."""
GPU_MILLI: Final = "stretto.dev/gpu-milli"
"""Annotation with the milli of each requested GPU (default 1000, whole)."""
GPU_MODELS: Final = "stretto.dev/gpu-models"
"""Annotation with the allowed GPU models, separated by ``|``."""
GPU_DEVICES: Final = "stretto.dev/gpu-devices"
"""Annotation with the chosen devices, such as ``0,3``; written with the bind."""

CLASS_LIMIT: Final = 50_000
"""Maximum number of unused classes; beyond it the least recently used is dropped."""
STAGED: Final = 2
"""Bit of ``PodClasses.special``: NUMA nodes, reservations or caps affect placement."""
PORTS_ONLY: Final = 4
"""Bit of ``PodClasses.special``: besides amounts, a claim needs only host ports."""
NUMA_ONLY: Final = 8
"""Bit of ``PodClasses.special``: besides amounts, a claim needs only NUMA nodes."""
EXCLUSIVE: Final = 16
"""Bit of ``PodClasses.special``: its amounts are promised once on an overcommitted node."""
BYTES_LIMIT: Final = 100_000
"""Maximum number of entries of the cache from raw bytes to classes; it is cleared when full."""

_OWN_ANNOTATIONS: Final = b"stretto.dev/gpu-m"
_SEPARATOR: Final = b"\x00"
_ANNOTATIONS: Final = msgspec.json.Decoder(dict[str, str] | None)
_MILLI: Final = re.compile("[1-9][0-9]{0,3}")
_CLAIMED: Final = (PodResourceClaim("any"),)
"""Stand-in for a class's resource claims: records only that there are some."""


Form = tuple[bytes, ClassTerms]
"""Identity of a class: the canonical spec, and its terms about other pods."""


class PodClass(msgspec.Struct, frozen=True, eq=False):
    """Requirements shared by all pods of a class."""

    #: Small integer for columns.
    id: int
    #: Serial of this class; never reused, unlike ids.
    serial: int
    #: Scheduling-relevant spec, completely decoded.
    spec: PodSpec
    #: Exact requests as (resource column, amount), without devices.
    requests: tuple[tuple[int, int], ...]
    #: Requested host ports.
    ports: tuple[HostPort, ...]
    #: Requested devices.
    devices: tuple[DeviceRequest, ...]
    #: Placement annotations.
    annotations: PodAnnotations = NO_ANNOTATIONS
    #: Terms about other pods, and the populations that count its pods.
    terms: ClassTerms = NO_CLASS_TERMS
    #: Full names of its containers' images, sorted; empty until a node reports images.
    images: tuple[str, ...] = ()
    #: Full names of the images that are its volumes, sorted; empty until a node reports images.
    mounts: tuple[str, ...] = ()


class PodClasses:
    """The table of classes."""

    def __init__(
        self,
        resources: ResourceColumns,
        device_kinds: tuple[str, ...] = (GPU,),
        *,
        overcommits: bool = False,
    ) -> None:
        """Start empty, with the resource columns of a ledger.

        ``overcommits`` is true if nodes may be overcommitted: only then are exclusive amounts
        special.
        """
        #: Names of resources that are managed device by device.
        self.device_kinds: frozenset[str] = frozenset(device_kinds)
        #: Number of live pods by class id.
        self.users: list[int] = []
        self._resources = resources
        self._overcommits = overcommits
        self._by_id: list[PodClass | None] = []
        self._by_bytes: dict[bytes, int] = {}
        #: Number of dropped classes so far; their ids may have been reused.
        self.forgotten: int = 0
        self._by_form: dict[Form, int] = {}
        self._forms: list[Form] = []
        self._unused: dict[int, None] = {}
        self._free_ids: list[int] = []
        self._next_serial = 1
        self._by_body: dict[bytes, int] = {}
        #: True if images are part of the classes.
        self.by_image = False
        self._requests: npt.NDArray[np.int64] = np.zeros((64, 8), np.int64)
        #: uint8[class]: not 0 if a claim needs more than amounts; ``STAGED`` is set if placement
        #: depends on more than scores.
        self.special: npt.NDArray[np.uint8] = np.zeros(64, np.uint8)
        #: uint8[class]: 1 if the spec has terms about other pods.
        self.with_terms: npt.NDArray[np.uint8] = np.zeros(64, np.uint8)
        #: uint8[class]: 1 if some rule counts its pods.
        self.counted: npt.NDArray[np.uint8] = np.zeros(64, np.uint8)
        #: uint8[class]: 1 if placement of its pods depends on other pods.
        self.judged: npt.NDArray[np.uint8] = np.zeros(64, np.uint8)
        #: int64[class]: serial of the class that currently uses the id; 0 for none.
        self.serials: npt.NDArray[np.int64] = np.zeros(64, np.int64)

    def __len__(self) -> int:
        """Number of ids ever assigned; some may be free now."""
        return len(self._by_id)

    def __getitem__(self, class_id: int) -> PodClass:
        """The class of an id."""
        found = self._by_id[class_id]
        if found is None:
            raise KeyError(class_id)
        return found

    def serial(self, class_id: int) -> int:
        """Serial of the class that currently uses an id; 0 for none."""
        found = self._by_id[class_id]
        return found.serial if found is not None else 0

    def intern(self, head: PodHead, body: bytes, reported: bytes = b"") -> int:
        """The class id of a pod.

        Args:
            head: the decoded head.
            body: the JSON of the pod (completely decoded on a miss).
            reported: the resources reported by its node (``state.classes.resizing``); if empty,
                only the spec counts.

        Raises:
            InputError: the spec is unreadable; the table is unchanged.
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
        key += container_parts(spec)
        if spec.resource_claims is not NO_BYTES:
            key.append(b"c" + bytes(spec.resource_claims))
        if self.by_image:
            key.append(images_key(head))
        if reported:
            key.append(reported)
        raw = _SEPARATOR.join(key)
        found = self._by_bytes.get(raw)
        if found is None:
            found = self._intern_form(head, body, running=bool(reported))
            if len(self._by_bytes) >= BYTES_LIMIT:
                self._by_bytes.clear()
            self._by_bytes[raw] = found
        return found

    def include_images(self) -> None:
        """Make images part of the classes from now on."""
        self.by_image = True
        self._by_bytes.clear()
        self._by_body.clear()

    def intern_shared(self, head: PodHead | None, body: bytes) -> int:
        """Return the class of a running pod whose body many share.

        Python caches the hash of ``body``.
        """
        found = self._by_body.get(body)
        if found is None:
            head = head if head is not None else decode_pod_head(body)
            found = self.intern(head, body, spec_as_reported(body, head))
            if len(self._by_body) >= SHARED_BODIES:
                self._by_body.clear()
            self._by_body[body] = found
        return found

    def requests_of(self, class_ids: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """int64[k, resource]: exact requests of each class, including the pod slot."""
        return self._requests[class_ids]

    def use(self, class_id: int, count: int = 1) -> None:
        """Count new pods of a class."""
        self.users[class_id] += count
        self._unused.pop(class_id, None)

    def release(self, class_id: int) -> None:
        """Count a removed pod of a class; beyond the limit the oldest unused class is dropped."""
        self.users[class_id] -= 1
        if self.users[class_id] == 0:
            self._unused[class_id] = None
            if len(self._unused) > CLASS_LIMIT:
                self._forget(next(iter(self._unused)))

    def derive(self, class_id: int, terms: ClassTerms) -> int:
        """Return the class of the same spec with other terms."""
        form = self._forms[class_id][0]
        found = self._by_form.get((form, terms))
        if found is not None:
            return found
        return self._add(msgspec.structs.replace(self[class_id], terms=terms), form)

    def is_of(self, class_id: int, spec_class: int) -> bool:
        """Return whether a class has the same spec as another, independent of its terms."""
        return self._forms[class_id][0] == self._forms[spec_class][0]

    def move(self, before: npt.NDArray[np.int32], after: npt.NDArray[np.int32]) -> None:
        """Count pods whose class changed."""
        for class_id, count in zip(*np.unique(after, return_counts=True), strict=True):
            self.use(int(class_id), int(count))
        for class_id, count in zip(*np.unique(before, return_counts=True), strict=True):
            self.users[class_id] -= int(count) - 1
            self.release(int(class_id))

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
        """Assign an id to a class."""
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
        rows, width = self._requests.shape
        if pod.id >= rows or len(self._resources) > width:
            length = rows if pod.id < rows else 2 * (pod.id + 1)
            wide = width if len(self._resources) <= width else len(self._resources) + 8
            more = np.zeros((length, wide), np.int64)
            more[:rows, :width] = self._requests
            self._requests = more
            longer = np.zeros(length - rows, np.uint8)
            self.special = np.concatenate([self.special, longer])
            self.with_terms = np.concatenate([self.with_terms, longer])
            self.counted = np.concatenate([self.counted, longer])
            self.judged = np.concatenate([self.judged, longer])
            self.serials = np.concatenate([self.serials, longer.astype(np.int64)])
        self._requests[pod.id] = 0
        for column, amount in pod.requests:
            self._requests[pod.id, column] = amount
        self._requests[pod.id, PODS] = 1
        self.serials[pod.id] = pod.serial
        self.with_terms[pod.id] = has_pod_terms(pod.spec)
        self.counted[pod.id] = bool(pod.terms.counted)
        self.judged[pod.id] = pod.terms.judged
        self.special[pod.id] = bool(pod.ports or pod.devices) | STAGED * pod.annotations.staged
        only_ports = self.special[pod.id] == 1
        if self._overcommits and pod.annotations.is_exclusive:
            self.special[pod.id] |= EXCLUSIVE
        if pod.ports and only_ports and not pod.devices:
            self.special[pod.id] |= PORTS_ONLY
        if pod.annotations.numa is not None and not (pod.ports or pod.devices):
            self.special[pod.id] |= NUMA_ONLY

    def _build(self, head: PodHead, body: bytes, *, running: bool) -> PodClass:
        pod = decode_as(Pod, body, "pod")
        spec, ports = pod.spec, host_ports(pod.spec)
        amounts = running_requests(pod) if running else requests(spec)
        amounts.pop(FIRST_NAMES[PODS], None)  # the pod slot is counted separately
        check_amounts(amounts, f"{_name(head.metadata)}, requests")
        devices = tuple(
            _device_request(kind, amounts.pop(kind), head.metadata)
            for kind in sorted(self.device_kinds & amounts.keys())
        )
        annotations = annotations_of(head.metadata)
        if annotations.best_effort and self._resources.pools:
            amounts = from_pool(amounts)
        column, where = self._resources.requested, f"{_name(head.metadata)}, requests"
        requested = tuple(sorted((column(name, where), n) for name, n in amounts.items() if n))
        return PodClass(
            id=-1,
            serial=0,
            spec=_placement_spec(spec),
            requests=requested,
            ports=tuple(sorted(ports)),
            devices=tuple(request for request in devices if request.count),
            annotations=annotations,
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
    """Decode the scheduling-relevant spec of a pod's JSON.

    Raises:
        InputError: a field is unreadable; the message contains its path.
    """
    return decode_as(Pod, body, "pod").spec


def _placement_spec(spec: PodSpec) -> PodSpec:
    """The part of a spec that rules read, without the pod's own data and amounts."""
    return PodSpec(
        node_selector=spec.node_selector,
        affinity=spec.affinity,
        tolerations=spec.tolerations,
        topology_spread_constraints=spec.topology_spread_constraints,
        resource_claims=_CLAIMED if spec.resource_claims else (),
    )


def _name(meta: MetaHead) -> str:
    """Name of a pod in messages."""
    return f"pod {meta.namespace}/{meta.name}"


def _placement_annotations(meta: MetaHead) -> bytes:
    """The raw annotations that affect requests; mostly none."""
    if meta.annotations is NO_BYTES:
        return b""
    raw = bytes(meta.annotations)
    if has_annotations(raw):
        return own_annotations(raw) + (raw if _OWN_ANNOTATIONS in raw else b"")
    return raw if _OWN_ANNOTATIONS in raw else b""


def _device_request(kind: str, count: int, meta: MetaHead) -> DeviceRequest:
    """A pod's request for one device kind; shares and models come from its annotations."""
    annotations = (
        _ANNOTATIONS.decode(meta.annotations) or {} if meta.annotations is not NO_BYTES else {}
    )
    pod = _name(meta)
    if not 0 <= count <= MAX_DEVICES:
        raise InputError(f"{pod}, requests {kind}", count, f"0 to {MAX_DEVICES} devices of a node")
    text = annotations.get(GPU_MILLI, str(WHOLE))
    where = f"{pod}, annotation {GPU_MILLI}"
    if not _MILLI.fullmatch(text) or int(text) > WHOLE:
        raise InputError(where, text, f"an integer from 1 to {WHOLE}")
    if int(text) < WHOLE and count != 1:
        raise InputError(where, text, f"{WHOLE}, or one device only (the pod requests {count})")
    models = tuple(sorted(filter(None, annotations.get(GPU_MODELS, "").split("|"))))
    return DeviceRequest(kind, count, int(text), models)
