"""Common values of the pods of one template, computed once and cached.

The cache is keyed by the raw inputs (``template_key``) and, for pending pods of one batch, by the
identity of their shared head.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from stretto.api.types.heads import ENDED, PodHead, decode_pod_head
from stretto.base.errors import InputError
from stretto.state.classes.resizing import reported_resources
from stretto.state.classes.template_key import Made, template_key, template_key_with_images
from stretto.state.cluster.cluster import Cluster
from stretto.state.ingest.priorities import PodPriorities
from stretto.state.rows.lifecycle import PodState
from stretto.stores.store import Record, WatchEvent

SHARED: Final = 4096
"""Maximum number of cached shared heads; each keeps a body alive."""
TEMPLATES: Final = 4096
"""Maximum number of cached templates; the cache is cleared when full."""
_OURS: Final = b""
_OTHERS: Final = b"\0others"
"""Suffix of the template key of another scheduler's pods."""
# Enum members as module names: they are read for every event, and attribute access on an enum class
# is slow.
_BOUND: Final = PodState.BOUND
_GATED: Final = PodState.GATED
_PENDING: Final = PodState.PENDING


Found = tuple[PodState, Made]
"""State of a new pod, and its template's results."""
_NODE: Final = attrgetter("record.node")
_DELETING: Final = attrgetter("record.deleting")


class PodTemplateCache:
    """Reads new pods, each template once."""

    def __init__(self, cluster: Cluster, priorities: PodPriorities) -> None:
        """Read pods of one cluster."""
        self._cluster = cluster
        self._priorities = priorities
        self._templates = 0
        self._template_key = template_key
        # Results by template key, and the epoch for which they are valid.
        self._alike: dict[bytes, Made] = {}
        # Results by identity of a head that many pending pods share; the cache keeps the head
        # alive, so that the identity stays unique.
        self._of_shared: dict[int, Found] = {}
        self._heads: list[PodHead] = []
        self._epoch: tuple[int, ...] = ()

    def read(self, events: Sequence[WatchEvent]) -> list[Found | None]:
        """Return state and template results of each pod.

        ``None`` for irrelevant and invalid pods.
        """
        self._forget_outdated()
        by_image = self._cluster.classes.by_image
        self._template_key = template_key_with_images if by_image else template_key
        shared = self._of_shared
        if any(map(_NODE, events)) or any(map(_DELETING, events)):
            shared = {}  # the cache is for pending pods
        known, read = shared.get, self._read_or_report
        return [known(id(event.head)) or read(event) for event in events]

    def _read_or_report(self, event: WatchEvent) -> Found | None:
        """Read one pod; ``None`` if it is irrelevant or invalid."""
        record, head = event.record, event.head
        try:
            found = self._read(record, head)
        except InputError as error:
            self._cluster.abnormal[key_of(record)] = str(error)
            return None
        if found is None or found[0] is not _PENDING:
            return found
        if head is not None and not head.metadata.name:
            self._of_shared[id(head)] = found
            self._heads.append(head)
        return found

    def _forget_outdated(self) -> None:
        """Clear cached results that are outdated.

        No class or tag is released while a batch is read, so results stay valid until its end.
        """
        cluster, tags = self._cluster, self._cluster.domains.tags
        epoch = (
            cluster.classes.forgotten,
            cluster.preemption_attributes.forgotten,
            tags.forgotten,
            tags.with_owners,
            cluster.classes.by_image,
            self._priorities.changes,
        )
        is_full = len(self._alike) > TEMPLATES or len(self._heads) > SHARED
        if epoch != self._epoch or is_full:
            self._epoch = epoch
            self._alike.clear()
            self._of_shared.clear()
            self._heads.clear()

    def _read(self, record: Record, head: PodHead | None) -> Found | None:
        """State and template results of any pod, or ``None`` for an irrelevant one."""
        cluster = self._cluster
        if record.node and head is None and not may_be_finished(record):
            tag, head = cluster.domains.tags.intern_shared(record.namespace, record.body)
            class_id = cluster.classes.intern_shared(head, record.body)
            priority, attributes = self._priorities.running_priority(record)
            return _BOUND, (class_id, priority, attributes, tag, -1)
        if head is None:
            head = decode_pod_head(record.body)
        spec = head.spec
        if head.status.phase in ENDED:
            return None
        bound, names = bool(record.node or spec.node_name), cluster.config.scheduler_names
        if not bound and (record.deleting or spec.scheduler_name not in names):
            return None
        suffix = _OURS if spec.scheduler_name in names else _OTHERS
        if bound:
            return _BOUND, self._made(record, head, suffix + reported_resources(record, head))
        return _GATED if spec.is_gated else _PENDING, self._made(record, head, suffix)

    def _made(self, record: Record, head: PodHead, suffix: bytes = _OURS) -> Made:
        """Class, priority, preemption attributes and tag of a pod, and its template number."""
        key = self._template_key(record.namespace, head) + suffix
        return self._alike.get(key) or self._make(record, head, key)

    def _make(self, record: Record, head: PodHead, key: bytes) -> Made:
        """Compute the same for a pod whose template is not cached."""
        cluster = self._cluster
        if not head.metadata.name:
            head = decode_pod_head(record.body)  # error messages must name the pod
        priority = self._priorities.priority(record, head)
        class_id = cluster.classes.intern(head, record.body, reported_resources(record, head))
        attributes = cluster.preemption_attributes.number_of(head)
        tag = cluster.domains.tags.intern_head(record.namespace, head)
        self._templates += 1
        made = self._alike[key] = class_id, priority, attributes, tag, self._templates
        return made


def key_of(record: Record) -> str:
    """Key of a pod in ``Cluster.abnormal``."""
    return f"pod {record.namespace}/{record.name}"


def may_be_finished(record: Record) -> bool:
    """Return whether the phase must be decoded: a cheap byte search for the fast path."""
    return b'"Succeeded"' in record.body or b'"Failed"' in record.body
