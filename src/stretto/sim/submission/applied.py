"""Applies a submission to a copy of a state: creates, updates and replaces objects.

    applied = apply_objects(copy.store, objects)

Objects that exist already are compared with what is submitted (``differences``). The pods of a
controller are scaled, and replaced if its template has changed.
"""

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final

import msgspec

from stretto.api.codec import decode_as
from stretto.api.types.core import Node
from stretto.api.types.pod import Pod
from stretto.api.wire.kinds import DAEMON_SET, NODE, POD, Kind
from stretto.api.wire.meta import ObjectMeta
from stretto.base.errors import InputError
from stretto.inputs.objects.relations import HeadedObject, InputObject
from stretto.sim.submission.differences import FieldChange, field_changes
from stretto.sim.submission.ephemeral import create_ephemeral_pvcs
from stretto.state.nodes.taints import NO_EXECUTE, NO_SCHEDULE, untolerated
from stretto.stores.store import Deletion, Patch, Record, Store, WriteOutcome

REVISION: Final = "pod-template-hash"
"""Label that distinguishes the ReplicaSets of a Deployment."""
_ENDED: Final = (b'"phase":"Succeeded"', b'"phase":"Failed"')


class ChangeKind(Enum):
    """Effect of a submission on an object."""

    #: It does not exist yet.
    CREATE = "create"
    #: It exists and is not changed.
    UNCHANGED = "unchanged"
    #: Fields change.
    UPDATE = "update"
    #: The number of its pods changes.
    SCALE = "scale"
    #: Its pods are replaced: their template, or the pod itself, has changed.
    REPLACE = "replace"


class PlannedChange(msgspec.Struct, frozen=True):
    """Effect of a submission on one object, or on the pods of one controller."""

    #: ``Kind namespace/name``.
    object: str
    #: The effect.
    change: ChangeKind
    #: Number of its pods before; ``None`` for an object without pods.
    pods_before: int | None = None
    #: Number of its pods afterwards; ``None`` for an object without pods.
    pods_after: int | None = None
    #: Pods that are created, as ``namespace/name``.
    created: tuple[str, ...] = ()
    #: Pods that are deleted, as ``namespace/name``.
    deleted: tuple[str, ...] = ()
    #: Changed fields.
    fields: tuple[FieldChange, ...] = ()


class AppliedSubmission(msgspec.Struct, frozen=True):
    """The result of applying a submission."""

    #: Effect on each object, in the order of the submission.
    changes: tuple[PlannedChange, ...]
    #: Created pods by uid.
    fresh: dict[str, Record]
    #: Uids of deleted pods.
    deleted: frozenset[str]
    #: Objects that the store refused, with the reasons.
    refused: tuple[str, ...]


class _Owner(msgspec.Struct, frozen=True):
    """A controller that groups submitted and existing pods."""

    kind: str
    namespace: str
    name: str


def apply_objects(store: Store, objects: Sequence[InputObject]) -> AppliedSubmission:
    """Apply a submission to a store.

    Args:
        store: the copy.
        objects: the submitted objects, with controllers replaced by their pods.
    """
    return _Applying(store).apply(objects)


def nodes_of(records: Iterable[Record]) -> list[Node]:
    """The nodes among some objects, which determine the pods of submitted DaemonSets."""
    return [decode_as(Node, each.body) for each in records if each.kind == NODE]


class _Applying:
    """One submission."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._existing: dict[tuple[Kind, str, str], Record] = {}
        self._groups: dict[_Owner, list[Record]] = {}
        self._fresh: dict[str, Record] = {}
        self._deleted: set[str] = set()
        self._refused: list[str] = []

    def apply(self, objects: Sequence[InputObject]) -> AppliedSubmission:
        for kind in dict.fromkeys(each.kind for each in objects):
            for record in self._store.list(kind).records:
                self._existing[kind, record.namespace, record.name] = record
                owner = _owner(record.kind, record.namespace, record.body)
                if owner is not None and not _is_ended(record):
                    self._groups.setdefault(owner, []).append(record)
        pods: dict[_Owner, list[InputObject]] = {}
        owners = [_owner(each.kind, each.namespace, each.body) for each in objects]
        for each, owner in zip(objects, owners, strict=True):
            if owner is not None:
                pods.setdefault(owner, []).append(each)
        changes = []
        for each, owner in zip(objects, owners, strict=True):
            if owner is None:
                changes.append(self._one(each))
            elif owner in pods:
                changes.append(self._group(owner, pods.pop(owner)))
        return AppliedSubmission(
            tuple(changes), self._fresh, frozenset(self._deleted), tuple(self._refused)
        )

    # ------------------------------------------------------------ single objects

    def _one(self, item: InputObject) -> PlannedChange:
        """An object without a controller."""
        title = f"{item.kind.kind} {_name(item.namespace, item.name)}"
        current = self._existing.get((item.kind, item.namespace, item.name))
        is_pod = item.kind is POD
        if current is None or (is_pod and _is_ended(current)):
            if current is not None:
                self._delete([current])
            made = self._create([item])
            count = 1 if is_pod else None
            return PlannedChange(title, ChangeKind.CREATE, 0 if is_pod else None, count, made)
        before, after = _parsed(current.body), _parsed(item.body)
        fields = tuple(field_changes(before, after, status=item.kind is NODE))
        if not fields:
            kept = 1 if is_pod else None
            return PlannedChange(title, ChangeKind.UNCHANGED, kept, kept)
        if is_pod:
            gone = self._delete([current])
            made = self._create([item])
            return PlannedChange(title, ChangeKind.REPLACE, 1, 1, made, gone, fields)
        patch = Patch(item.namespace, item.name, _without_identity(after))
        writes = [self._store.patch] + [self._store.patch_status] * (item.kind is NODE)
        for write in writes:
            (reply,) = write(item.kind, [patch])
            if reply.outcome is not WriteOutcome.OK:
                self._refused.append(f"{item.title}: {reply.message or reply.code.value}")
        return PlannedChange(title, ChangeKind.UPDATE, fields=fields)

    # ------------------------------------------------------------ pods of a controller

    def _group(self, owner: _Owner, wanted: list[InputObject]) -> PlannedChange:
        """The pods of one controller."""
        title = f"{owner.kind} {_name(owner.namespace, owner.name)}"
        current = self._groups.get(owner, [])
        if not current:
            made = self._create(wanted)
            return PlannedChange(title, ChangeKind.CREATE, 0, len(wanted), made)
        counts = (len(current), len(wanted))
        pair = _pair(owner, current, wanted)
        fields = tuple(field_changes(*map(_parsed, pair))) if pair else ()
        if fields:
            gone = self._delete(current)
            made = self._create(wanted)
            return PlannedChange(title, ChangeKind.REPLACE, *counts, made, gone, fields)
        old_pods, new_pods = _scaled(owner, current, wanted)
        if owner.kind == DAEMON_SET.kind:
            old_pods = [each for each in old_pods if not self._is_kept(each)]
            counts = (len(current), len(current) - len(old_pods) + len(new_pods))
        gone, made = self._delete(old_pods), self._create(new_pods)
        kind = ChangeKind.SCALE if old_pods or new_pods else ChangeKind.UNCHANGED
        return PlannedChange(title, kind, *counts, made, gone)

    def _is_kept(self, record: Record) -> bool:
        """True if a DaemonSet's pod stays on a node whose taints only forbid new pods."""
        found = self._store.get(NODE, "", record.node or "")
        if found is None:
            return False
        node, pod = decode_as(Node, found.body), decode_as(Pod, record.body)
        taints, tolerations = node.spec.taints, pod.spec.tolerations
        return (
            pod.spec.node_selector.items() <= node.metadata.labels.items()
            and untolerated(taints, tolerations, (NO_SCHEDULE,)) > 0
            and not untolerated(taints, tolerations, (NO_EXECUTE,))
        )

    # ------------------------------------------------------------ writes

    def _create(self, items: Iterable[InputObject]) -> tuple[str, ...]:
        """Create objects; return the names of the created pods."""
        made = []
        for each in items:
            (reply,) = self._store.create(each.kind, [each.body])
            if reply.outcome is not WriteOutcome.OK:
                self._refused.append(f"{each.title}: {reply.message or reply.code.value}")
            elif each.kind is POD and reply.record is not None:
                create_ephemeral_pvcs(self._store, [reply])
                self._fresh[reply.record.uid] = reply.record
                made.append(_name(each.namespace, each.name))
        return tuple(made)

    def _delete(self, records: Sequence[Record]) -> tuple[str, ...]:
        """Delete pods; return their names."""
        for each in records:
            self._store.delete(each.kind, [Deletion(each.namespace, each.name)])
            self._deleted.add(each.uid)
        return tuple(_name(each.namespace, each.name) for each in records)


def _owner(kind: Kind, namespace: str, body: bytes) -> _Owner | None:
    """The controller of a pod; a Deployment for the pods of its ReplicaSets."""
    if kind is not POD or b'"ownerReferences"' not in body:
        return None
    try:
        meta: ObjectMeta = decode_as(HeadedObject, body).metadata
    except InputError:
        return None
    reference = next((each for each in meta.owner_references if each.controller), None)
    if reference is None:
        return None
    name = reference.name
    if reference.kind == "ReplicaSet":
        base, _, suffix = name.rpartition("-")
        if base and suffix == meta.labels.get(REVISION):
            return _Owner("Deployment", namespace, base)
    return _Owner(reference.kind, namespace, name)


def _pair(
    owner: _Owner, current: Sequence[Record], wanted: Sequence[InputObject]
) -> tuple[bytes, bytes] | None:
    """An existing and a submitted pod for the comparison; for a DaemonSet, of one node."""
    if owner.kind == DAEMON_SET.kind:
        there = {_target(each.body): each.body for each in current}
        both = ((there.get(_target(each.body)), each.body) for each in wanted)
        return next(((old, new) for old, new in both if old is not None), None)
    named = {each.name: each.body for each in current}
    like = next((each for each in wanted if each.name in named), wanted[0])
    return named.get(like.name, current[0].body), like.body


def _scaled(
    owner: _Owner, current: Sequence[Record], wanted: Sequence[InputObject]
) -> tuple[list[Record], list[InputObject]]:
    """The pods that a controller deletes and creates; a DaemonSet has one pod for each node."""
    if owner.kind == DAEMON_SET.kind:
        there = {_target(each.body) for each in current}
        nodes = {_target(each.body) for each in wanted}
        return (
            [each for each in current if _target(each.body) not in nodes],
            [each for each in wanted if _target(each.body) not in there],
        )
    names, new_names = {each.name for each in current}, {each.name for each in wanted}
    surplus = len(current) - len(wanted)
    missing = [each for each in wanted if each.name not in names]
    return _last(current, new_names, max(0, surplus)), missing[: max(0, -surplus)]


def _target(body: bytes) -> str:
    """The node of a DaemonSet's pod: its present node, or the node in its affinity."""
    spec = decode_as(Pod, body).spec
    affinity = spec.affinity.node_affinity if spec.affinity else None
    required = affinity.required if affinity else None
    fields = [
        rule.values[0]
        for term in (required.node_selector_terms if required else ())
        for rule in term.match_fields
        if rule.values
    ]
    return spec.node_name or next(iter(fields), "")


def _last(current: Sequence[Record], wanted: set[str], count: int) -> list[Record]:
    """The pods that a controller deletes first: unwanted names, pods without a node, newest."""
    order = sorted(current, key=lambda each: (each.name in wanted, bool(each.node), -each.version))
    return order[:count]


def _is_ended(record: Record) -> bool:
    body = record.body.replace(b" ", b"")
    return any(phase in body for phase in _ENDED)


def _parsed(body: bytes) -> dict[str, object]:
    found: dict[str, object] = msgspec.json.decode(body)
    return found


def _without_identity(body: dict[str, object]) -> dict[str, object]:
    """A submitted object as a merge patch, without identity and status."""
    kept = {key: value for key, value in body.items() if key not in ("apiVersion", "kind")}
    meta = kept.get("metadata")
    if isinstance(meta, dict):
        kept["metadata"] = {k: v for k, v in meta.items() if k in ("labels", "annotations")}
    return kept


def _name(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name
