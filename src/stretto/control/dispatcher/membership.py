"""Which unit a pod belongs to, read from its labels, annotations and owners.

Pods of one template repeat these texts byte for byte, so each is parsed once and kept by its bytes.
What contradicts itself is no error of ours: it comes back as a sentence, and the pod waits for its
owner to mend it.
"""

from collections.abc import Hashable
from math import inf
from typing import Final, NamedTuple, TypeVar

import msgspec

from stretto.api.types.godel import PodGroup, PodGroupPhase
from stretto.api.types.heads import GROUP_NOTE, MetaHead
from stretto.api.wire.meta import OwnerReference
from stretto.control.queues.config import ALL, DispatcherConfig
from stretto.state.work.units import DEFAULT_QUEUE, NO_GROUP, UnitKind

GROUP_NAME: Final = GROUP_NOTE
"""Label or annotation: the PodGroup of a pod, in its namespace."""
QUEUE_NAME: Final = "stretto.dev/queue"
"""Label or annotation on a pod or a PodGroup: its queue."""
MIN_MEMBER: Final = "stretto.dev/min-member"
"""Annotation on the pods of an owner: how many must fit together, or ``all``."""
GROUP_SIZE: Final = "stretto.dev/group-size"
"""Annotation on a PodGroup: how many pods it will have, where its maker knows."""

DURATION: Final = "stretto.dev/duration"
"""Annotation on a pod or a PodGroup: seconds that it is expected to run once placed."""

LONGEST: Final = 10_000_000_000
"""Three centuries in seconds: a run time beyond is in milliseconds, or worse."""
KEPT: Final = 8192
"""Parsed texts that are kept; all are forgotten when there are more."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_GROUP: Final = GROUP_NAME.encode()
_OURS: Final = b"stretto.dev/"
_OWNERS: Final = msgspec.json.Decoder(tuple[OwnerReference, ...])
_LATE: Final = frozenset({PodGroupPhase.TIMEOUT})
_RAN: Final = frozenset(
    {
        PodGroupPhase.SCHEDULED,
        PodGroupPhase.RUNNING,
        PodGroupPhase.FINISHED,
        PodGroupPhase.FAILED,
    }
)


class MembershipNotes(NamedTuple):
    """What a pod's labels or annotations say about units."""

    #: Name of its PodGroup; empty for none.
    group: str = ""
    #: Its queue; empty for the default.
    queue: str = ""
    #: How many of its owner's pods must fit together, as written; empty for the table's number.
    min_member: str = ""
    #: Seconds that it is expected to run, as written; empty where nobody knows.
    duration: str = ""
    #: Why they cannot be read; empty where they can.
    fault: str = ""


class _MembershipTexts(msgspec.Struct, frozen=True, gc=False):
    """The labels or annotations that notes are read from; all others are passed over."""

    #: See ``MembershipNotes``, as all the others.
    group: str = msgspec.field(default="", name=GROUP_NAME)
    queue: str = msgspec.field(default="", name=QUEUE_NAME)
    min_member: str = msgspec.field(default="", name=MIN_MEMBER)
    duration: str = msgspec.field(default="", name=DURATION)


class Owner(NamedTuple):
    """The controlling owner of a pod."""

    #: Its uid; empty where the pod has no owner.
    uid: str = ""
    #: Its kind.
    kind: str = ""
    #: Its name.
    name: str = ""
    #: Why the owners cannot be read; empty where they can.
    fault: str = ""


class Membership(NamedTuple):
    """The unit that a pod asks to be part of."""

    #: What makes it the same unit: ``PodGroupUnit/ns/name``, the owner's uid; empty for one pod.
    identity: str = ""
    #: Its name for humans; empty for one pod.
    key: str = ""
    #: What makes it.
    kind: UnitKind = UnitKind.POD
    #: Pods that must fit together; 0 for all that exist.
    min_member: int = 1
    #: Its queue.
    queue: str = DEFAULT_QUEUE
    #: Seconds that it is expected to run; infinity where it does not say.
    duration: float = inf
    #: Why the pod contradicts itself; empty where it does not.
    fault: str = ""


PLAIN: Final = Membership()
"""The wish of most pods: to be tried alone, in the default queue."""

_TEXTS: Final = msgspec.json.Decoder(_MembershipTexts)
_NOTHING: Final = MembershipNotes()
_NOBODY: Final = Owner()


class MembershipReader:
    """Reads wishes, each text once."""

    def __init__(self, config: DispatcherConfig) -> None:
        """Start with nothing read."""
        self._min_members = config.min_members
        self._each_alone = config.each_alone
        self._notes: dict[bytes, MembershipNotes] = {}
        self._owners: dict[bytes, Owner] = {}
        self._wishes: dict[tuple[str, MembershipNotes, Owner], Membership] = {}
        self._owned: dict[bytes, Membership] = {}
        self._of_templates: dict[int, Membership] = {}
        self._merged: tuple[MembershipNotes, MembershipNotes, MembershipNotes] = (
            _NOTHING,
            _NOTHING,
            _NOTHING,
        )

    def wish(self, meta: MetaHead) -> Membership:
        """The unit that a pod asks to be part of."""
        notes = _NOTHING
        kept = self._notes
        if meta.annotations:
            text = bytes(meta.annotations)
            notes = kept.get(text) or self._read_notes(text)
        if meta.labels:
            text = bytes(meta.labels)
            labels = kept.get(text) or self._read_notes(text)
            if labels is not _NOTHING:
                notes = labels if notes is _NOTHING else self._merge(notes, labels)
        if not meta.owner_references:
            return PLAIN if notes is _NOTHING else self._membership(meta.namespace, notes, _NOBODY)
        text = bytes(meta.owner_references)
        if notes is not _NOTHING:
            return self._membership(meta.namespace, notes, self._read_owner(text))
        found = self._owned.get(text)
        if found is None:
            found = self._membership(meta.namespace, notes, self._read_owner(text))
            _keep(self._owned, text, found)
        return found

    def of_templates(self) -> dict[int, Membership]:
        """Wishes by number of template, which is never given twice; to be filled by the caller."""
        if len(self._of_templates) >= KEPT:
            self._of_templates.clear()
        return self._of_templates

    def _merge(self, first: MembershipNotes, second: MembershipNotes) -> MembershipNotes:
        """Annotations say more exactly what labels say too; the pods of a gang say the same."""
        if first == second:
            return first
        if self._merged[0] is not first or self._merged[1] is not second:
            both = MembershipNotes(
                *(one or other for one, other in zip(first, second, strict=True))
            )
            self._merged = (first, second, both)
        return self._merged[2]

    def _membership(self, namespace: str, notes: MembershipNotes, owner: Owner) -> Membership:
        if notes is _NOTHING and owner is _NOBODY:
            return PLAIN
        key = (namespace, notes, owner)
        found = self._wishes.get(key)
        if found is None:
            found = self._make(namespace, notes, owner)
            _keep(self._wishes, key, found)
        return found

    def _make(self, namespace: str, notes: MembershipNotes, owner: Owner) -> Membership:
        queue = notes.queue or DEFAULT_QUEUE
        min_member, complaint = self._min_member(notes.min_member, owner.kind)
        duration, wrong = read_duration(notes.duration)
        fault = notes.fault or owner.fault or complaint or wrong
        if fault:
            return Membership(queue=queue, fault=fault)
        if notes.group:
            key = group_unit(f"{namespace}/{notes.group}")
            return Membership(key, key, UnitKind.POD_GROUP, NO_GROUP, queue, duration)
        if not owner.uid or (self._each_alone and min_member == 1):
            return Membership(queue=queue, duration=duration)
        key = f"OwnerUnit/{owner.kind}/{namespace}/{owner.name}"
        return Membership(owner.uid, key, UnitKind.OWNER, min_member, queue, duration)

    def _min_member(self, written: str, kind: str) -> tuple[int, str]:
        asked = written or self._min_members.get(kind, 1)
        if asked == ALL:
            return 0, ""
        try:
            number = int(asked)
        except ValueError:
            number = 0
        if number < 1:
            return 1, (
                f"annotation {MIN_MEMBER}: got {written!r}, expected a number of pods from 1 on, "
                f"or {ALL!r}"
            )
        return number, ""

    def _read_notes(self, text: bytes) -> MembershipNotes:
        found = _parse_notes(text)
        _keep(self._notes, text, found)
        return found

    def _read_owner(self, text: bytes) -> Owner:
        found = self._owners.get(text)
        if found is None:
            found = _parse_owner(text)
            _keep(self._owners, text, found)
        return found


def _keep(table: dict[K, V], key: K, value: V) -> None:
    """Remember what was read, within bounds."""
    if len(table) >= KEPT:
        table.clear()
    table[key] = value


def group_unit(key: str) -> str:
    """The identity of a PodGroup's unit from ``namespace/name``, as Gödel writes it."""
    return f"PodGroupUnit/{key}"


def _parse_notes(text: bytes) -> MembershipNotes:
    if _GROUP not in text and _OURS not in text:
        return _NOTHING
    try:
        found = MembershipNotes(*msgspec.structs.astuple(_TEXTS.decode(text)))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return MembershipNotes(fault=f"labels or annotations: expected texts by name: {error}")
    return found if any(found) else _NOTHING


def read_duration(written: str) -> tuple[float, str]:
    """Seconds that something is expected to run, and what is wrong with how that is written."""
    if not written:
        return inf, ""
    try:
        seconds = float(written)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= LONGEST:
        expected = f"seconds from 0 to {LONGEST:,}"
        return inf, f"annotation {DURATION}: got {written!r}, expected {expected}"
    return seconds, ""


def _parse_owner(text: bytes) -> Owner:
    try:
        owners = _OWNERS.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Owner(fault=f"ownerReferences: expected a list of owners: {error}")
    for owner in owners:
        if owner.controller and owner.uid:
            return Owner(owner.uid, owner.kind, owner.name)
    return _NOBODY


class GroupRecord(NamedTuple):
    """What the dispatcher keeps of a PodGroup."""

    #: Its uid: a namesake with another is another group.
    uid: str
    #: Pods that must fit together.
    min_member: int
    #: Clock time at which it was first seen.
    seen: float
    #: Seconds it may wait from then on.
    wait: float
    #: Its queue; empty where its pods say.
    queue: str
    #: It has been scheduled as a whole before.
    ran: bool
    #: Somebody has declared it timed out, which is final.
    late: bool
    #: Seconds that its pods are expected to run; infinity where their own notes say.
    duration: float
    #: Why it contradicts itself; empty where it does not.
    fault: str


def read_group(group: PodGroup, now: float, default_timeout: float) -> GroupRecord:
    """What matters of a PodGroup that is first seen now."""
    meta, spec = group.metadata, group.spec
    timeout = spec.schedule_timeout_seconds
    wait = default_timeout if timeout is None else float(timeout)
    queue = meta.annotations.get(QUEUE_NAME) or meta.labels.get(QUEUE_NAME, "")
    phase = group.status.phase
    duration, wrong = read_duration(meta.annotations.get(DURATION, ""))
    fault = _group_fault(group) or (wrong and f"PodGroup {meta.namespace}/{meta.name}: {wrong}")
    ran, late = phase in _RAN, phase in _LATE
    return GroupRecord(meta.uid, spec.min_member, now, wait, queue, ran, late, duration, fault)


def unreadable_group(fault: str, now: float) -> GroupRecord:
    """A PodGroup that could never be read."""
    return GroupRecord("", NO_GROUP, now, inf, "", ran=False, late=False, duration=inf, fault=fault)


def _group_fault(group: PodGroup) -> str:
    meta, spec = group.metadata, group.spec
    where = f"PodGroup {meta.namespace}/{meta.name}"
    if spec.min_member < 1:
        return (
            f"{where}: spec.minMember: got {spec.min_member}, expected a number of pods from 1 on; "
            "set it to how many pods must run together"
        )
    if spec.schedule_timeout_seconds is not None and spec.schedule_timeout_seconds <= 0:
        got = spec.schedule_timeout_seconds
        return f"{where}: spec.scheduleTimeoutSeconds: got {got}, expected a number above 0"
    size = meta.annotations.get(GROUP_SIZE, "")
    if size and not (size.isdecimal() and int(size) >= 1):
        return f"{where}: annotation {GROUP_SIZE}: got {size!r}, expected a number of pods"
    if size and spec.min_member > int(size):
        return (
            f"{where}: spec.minMember: got {spec.min_member}, expected at most {size}, the size "
            f"that annotation {GROUP_SIZE} states; lower one or raise the other"
        )
    return ""
