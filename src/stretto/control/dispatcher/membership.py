"""Reads the unit of a pod from its labels, annotations and owners.

Pods of one template repeat these texts byte for byte, so each text is parsed once and cached by its
bytes. Inconsistent input results in a fault text; the pod stays pending until the input is
corrected.
"""

from collections.abc import Hashable
from math import inf
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from stretto.api.types.godel import PodGroup, PodGroupPhase
from stretto.api.types.heads import GROUP_NOTE, MetaHead
from stretto.api.types.workload_groups import FORMS
from stretto.api.wire.labels import ESTIMATE, GROUP_SIZE, QUEUE_NAME
from stretto.api.wire.meta import OwnerReference
from stretto.control.queues.config import ALL, DispatcherConfig
from stretto.state.work.units import DEFAULT_QUEUE, NO_GROUP, UnitKind

GROUP_NAME: Final = GROUP_NOTE
"""Label or annotation: the PodGroup of a pod, in the pod's namespace."""
MIN_MEMBER: Final = "stretto.dev/min-member"
"""Annotation on the pods of an owner: the number of pods that must fit together, or ``all``."""

DURATION: Final = "stretto.dev/duration"
"""Annotation on a pod or a PodGroup: its expected run time in seconds."""

LONGEST: Final = 10_000_000_000
"""Largest valid run time in seconds (three centuries): a longer one is probably in milliseconds."""
CACHE_SIZE: Final = 8192
"""Size of each cache of parsed texts; a full cache is cleared."""

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
    """The entries of a pod's labels or annotations that define its unit."""

    #: Name of the PodGroup; empty for none.
    group: str = ""
    #: Name of the queue; empty for the default.
    queue: str = ""
    #: Number of the owner's pods that must fit together, as written; empty for the configured
    #: number.
    min_member: str = ""
    #: Expected run time in seconds, as written; empty if unknown.
    duration: str = ""
    #: The user's estimate of the run time in seconds, as written; empty if there is none.
    estimate: str = ""
    #: Reason why they are unreadable; empty if they are readable.
    fault: str = ""


class _MembershipTexts(msgspec.Struct, frozen=True, gc=False):
    """Decodes these labels or annotations; all others are skipped."""

    #: See ``MembershipNotes`` for all fields.
    group: str = msgspec.field(default="", name=GROUP_NAME)
    queue: str = msgspec.field(default="", name=QUEUE_NAME)
    min_member: str = msgspec.field(default="", name=MIN_MEMBER)
    duration: str = msgspec.field(default="", name=DURATION)
    estimate: str = msgspec.field(default="", name=ESTIMATE)


class Owner(NamedTuple):
    """The controlling owner of a pod."""

    #: Uid of the owner; empty without an owner.
    uid: str = ""
    #: Kind of the owner.
    kind: str = ""
    #: Name of the owner.
    name: str = ""
    #: Reason why the owners are unreadable; empty if they are readable.
    fault: str = ""


class Membership(NamedTuple):
    """The unit to which a pod belongs."""

    #: Identity of the unit: ``PodGroupUnit/ns/name`` or the owner's uid; empty for a single pod.
    identity: str = ""
    #: Display name; empty for a single pod.
    key: str = ""
    #: Kind of the unit.
    kind: UnitKind = UnitKind.POD
    #: Number of pods that must fit together; 0 for all that exist.
    min_member: int = 1
    #: Queue of the unit.
    queue: str = DEFAULT_QUEUE
    #: Expected run time in seconds; infinity if unknown.
    duration: float = inf
    #: Reason why the pod is inconsistent; empty if it is valid.
    fault: str = ""


PLAIN: Final = Membership()
"""The membership of most pods: a single pod in the default queue."""

_TEXTS: Final = msgspec.json.Decoder(_MembershipTexts)
_NOTHING: Final = MembershipNotes()
_NO_OWNER: Final = Owner()


class MembershipReader:
    """Reads memberships and parses each text once."""

    def __init__(self, config: DispatcherConfig) -> None:
        """Start with empty caches."""
        self._min_members = config.min_members
        self._each_alone = config.each_alone
        self._marks = {
            key: FORMS[form].mark for form in config.group_forms for key in FORMS[form].keys
        }
        self._keys = [key.encode() for key in self._marks]
        self._notes: dict[bytes, MembershipNotes] = {}
        self._owners: dict[bytes, Owner] = {}
        self._memberships: dict[tuple[str, MembershipNotes, Owner], Membership] = {}
        self._owned: dict[bytes, Membership] = {}
        self._of_templates: dict[int, Membership] = {}
        self._merged: tuple[MembershipNotes, MembershipNotes, MembershipNotes] = (
            _NOTHING,
            _NOTHING,
            _NOTHING,
        )

    def membership(self, meta: MetaHead) -> Membership:
        """Return the unit to which a pod belongs."""
        notes = _NOTHING
        known = self._notes
        if meta.annotations:
            text = bytes(meta.annotations)
            notes = known.get(text) or self._read_notes(text)
        if meta.labels:
            text = bytes(meta.labels)
            labels = known.get(text) or self._read_notes(text)
            if labels is not _NOTHING:
                notes = labels if notes is _NOTHING else self._merge(notes, labels)
        if not meta.owner_references:
            return (
                PLAIN if notes is _NOTHING else self._membership(meta.namespace, notes, _NO_OWNER)
            )
        text = bytes(meta.owner_references)
        if notes is not _NOTHING:
            return self._membership(meta.namespace, notes, self._read_owner(text))
        found = self._owned.get(text)
        if found is None:
            found = self._membership(meta.namespace, notes, self._read_owner(text))
            _remember(self._owned, text, found)
        return found

    def of_templates(self) -> dict[int, Membership]:
        """Cache of memberships by template number, which is never reused; the caller fills it."""
        if len(self._of_templates) >= CACHE_SIZE:
            self._of_templates.clear()
        return self._of_templates

    def _merge(self, first: MembershipNotes, second: MembershipNotes) -> MembershipNotes:
        """Combine annotations with labels; annotations take precedence."""
        if first == second:
            return first
        if self._merged[0] is not first or self._merged[1] is not second:
            both = MembershipNotes(
                *(one or other for one, other in zip(first, second, strict=True))
            )
            self._merged = (first, second, both)
        return self._merged[2]

    def _membership(self, namespace: str, notes: MembershipNotes, owner: Owner) -> Membership:
        if notes is _NOTHING and owner is _NO_OWNER:
            return PLAIN
        key = (namespace, notes, owner)
        found = self._memberships.get(key)
        if found is None:
            found = self._make(namespace, notes, owner)
            _remember(self._memberships, key, found)
        return found

    def _make(self, namespace: str, notes: MembershipNotes, owner: Owner) -> Membership:
        queue = notes.queue or DEFAULT_QUEUE
        min_member, bad_minimum = self._min_member(notes.min_member, owner.kind)
        duration, wrong = read_estimate(notes.estimate, notes.duration)
        fault = notes.fault or owner.fault or bad_minimum or wrong
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
        wanted = written or self._min_members.get(kind, 1)
        if wanted == ALL:
            return 0, ""
        try:
            number = int(wanted)
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
        if not found.group and any(key in text for key in self._keys):
            found = found._replace(group=self._foreign_group(text))
        _remember(self._notes, text, found)
        return found

    def _foreign_group(self, text: bytes) -> str:
        """PodGroup of another scheduler that labels or annotations name; empty for none."""
        try:
            notes = msgspec.json.decode(text, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError):
            return ""
        found = ((str(notes.get(key) or ""), mark) for key, mark in self._marks.items())
        return next((f"{name}{mark}" for name, mark in found if name), "")

    def _read_owner(self, text: bytes) -> Owner:
        found = self._owners.get(text)
        if found is None:
            found = _parse_owner(text)
            _remember(self._owners, text, found)
        return found


def _remember(table: dict[K, V], key: K, value: V) -> None:
    """Add to a cache of bounded size."""
    if len(table) >= CACHE_SIZE:
        table.clear()
    table[key] = value


def group_unit(key: str) -> str:
    """Identity of a PodGroup's unit from ``namespace/name``, in Gödel's form."""
    return f"PodGroupUnit/{key}"


def _parse_notes(text: bytes) -> MembershipNotes:
    if _GROUP not in text and _OURS not in text:
        return _NOTHING
    try:
        found = MembershipNotes(*msgspec.structs.astuple(_TEXTS.decode(text)))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return MembershipNotes(fault=f"labels or annotations: expected texts by name: {error}")
    return found if any(found) else _NOTHING


def read_estimate(estimate: str, duration: str) -> tuple[float, str]:
    """Return the run time for queue policies, the estimate first, and a fault text."""
    estimated, bad_estimate = read_duration(estimate, ESTIMATE)
    expected, bad_duration = read_duration(duration)
    return estimated if estimate else expected, bad_estimate or bad_duration


def read_duration(written: str, annotation: str = DURATION) -> tuple[float, str]:
    """Parse a run time: seconds and a fault text, one of them empty."""
    if not written:
        return inf, ""
    try:
        seconds = float(written)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= LONGEST:
        expected = f"seconds from 0 to {LONGEST:,}"
        return inf, f"annotation {annotation}: got {written!r}, expected {expected}"
    return seconds, ""


def _parse_owner(text: bytes) -> Owner:
    try:
        owners = _OWNERS.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Owner(fault=f"ownerReferences: expected a list of owners: {error}")
    for owner in owners:
        if owner.controller and owner.uid:
            return Owner(owner.uid, owner.kind, owner.name)
    return _NO_OWNER


class GroupRecord(NamedTuple):
    """The fields of a PodGroup that the dispatcher uses."""

    #: Uid of the group; a group of the same name with another uid is another group.
    uid: str
    #: Number of pods that must fit together.
    min_member: int
    #: Clock time at which it was first seen, in seconds.
    seen: float
    #: Seconds from first sight to the deadline.
    wait: float
    #: True if the PodGroup sets its time-out; otherwise the default applies.
    stated: bool
    #: Queue of the group; empty if the pods set it.
    queue: str
    #: True if the group was scheduled as a whole before.
    ran: bool
    #: True if the phase of the group is final: timed out.
    late: bool
    #: Expected run time of its pods in seconds; infinity if the pods set it.
    duration: float
    #: Reason why it is inconsistent; empty if it is valid.
    fault: str


def read_group(group: PodGroup, now: float, default_timeout: float) -> GroupRecord:
    """Read a PodGroup that is seen for the first time."""
    meta, spec = group.metadata, group.spec
    timeout = spec.schedule_timeout_seconds
    wait = default_timeout if timeout is None else float(timeout)
    queue = meta.annotations.get(QUEUE_NAME) or meta.labels.get(QUEUE_NAME, "")
    phase = group.status.phase
    notes = meta.annotations
    duration, wrong = read_estimate(notes.get(ESTIMATE, ""), notes.get(DURATION, ""))
    fault = _group_fault(group) or (wrong and f"PodGroup {meta.namespace}/{meta.name}: {wrong}")
    ran, late = phase in _RAN, phase in _LATE
    stated = timeout is not None
    return GroupRecord(
        meta.uid, spec.min_member, now, wait, stated, queue, ran, late, duration, fault
    )


def unreadable_group(fault: str, now: float) -> GroupRecord:
    """Stand-in for a PodGroup that was never readable."""
    return GroupRecord(
        "", NO_GROUP, now, inf, True, "", ran=False, late=False, duration=inf, fault=fault
    )


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
