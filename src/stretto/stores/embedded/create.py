"""Drafts of new objects, a hot path of the store. Each pod is decoded once, here."""

from collections.abc import Sequence
from itertools import repeat
from typing import Final, NamedTuple

import msgspec

from stretto.api.types.heads import ObjectHead, PodHead
from stretto.api.wire.kinds import DEFAULT_NAMESPACE, POD
from stretto.api.wire.names import is_dns_subdomain
from stretto.base.arrays import WORTHWHILE
from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.stores.embedded.admission import decode_object, generated_name, place_of
from stretto.stores.embedded.table import Space, TableDraft
from stretto.stores.embedded.templates import TemplateCache
from stretto.stores.embedded.update import invalid
from stretto.stores.generation import first_generation, may_have_generation
from stretto.stores.store import (
    EventType,
    Record,
    Replies,
    Reply,
    StatusReason,
    WatchEvent,
    WriteOutcome,
)

NAME_TRIES: Final = 8
"""Number of attempts to generate an unused name, as in an API server."""

IDENTITY_CHARS: Final = 24
"""Number of common first characters of all uids of a store; the creation version follows."""


_ENDS: Final = [f"{number:03x}" for number in range(1 << 12)]
"""All possible last three digits of versions."""


class CreateSettings(msgspec.Struct, frozen=True, gc=False):
    """Values that the store assigns to new objects."""

    #: First characters of every uid.
    identity: str
    #: RFC 3339 time.
    created: str
    #: Source of suffixes of generated names.
    rng: Rng
    #: Decoder of pods.
    patterns: TemplateCache


class CreatedObjects(NamedTuple):
    """New objects, as columns."""

    #: Names.
    names: Sequence[str]
    #: JSON bodies.
    bodies: Sequence[bytes]
    #: Decoded head of each pod; ``None`` for other kinds.
    heads: Sequence[PodHead | None]


def draft_creates(draft: TableDraft, bodies: Sequence[bytes], settings: CreateSettings) -> Replies:
    """Create objects. A uid consists of the store's identity and a version, and is unique."""
    if draft.table.kind == POD and len(bodies) >= WORTHWHILE:
        drafted_at_once = _draft_pods(draft, bodies, settings)
        if drafted_at_once is not None:
            return drafted_at_once
    return [_draft_one(draft, body, settings) for body in bodies]


def _draft_one(draft: TableDraft, body: bytes, settings: CreateSettings) -> Reply:
    """Create one object, or return the reason why it cannot be created."""
    kind, pod = draft.table.kind, None
    body = first_generation(kind, body)
    head: PodHead | ObjectHead
    try:
        if kind == POD:
            given, pod = settings.patterns.read_one(body)
            head = pod
        else:
            head = decode_object(kind, body)
            given = head.metadata.name
        namespace, name = place_of(kind, given, head, settings.rng)
    except InputError as error:
        return invalid(error)
    old = draft.find(namespace, name)
    if old is not None:
        free = "" if given else _free_name(draft, namespace, head, settings.rng)
        if not free:
            return _taken(old)
        name = free
    node = "" if pod is None else pod.spec.node_name
    ending = (pod and pod.metadata.deletion_timestamp) or ""
    version, created = draft.version + 1, settings.created
    uid = new_uid(settings.identity, version)
    fields = kind, namespace, name, uid, version, body, node
    record = draft.add(Record(*fields, created=created, deleting=ending), pod)
    return Reply(WriteOutcome.OK, StatusReason.NONE, "", record)


def _draft_pods(
    draft: TableDraft, bodies: Sequence[bytes], settings: CreateSettings
) -> Replies | None:
    """Create pods if all are valid, new and in one namespace; otherwise return ``None``."""
    try:
        names, heads = settings.patterns.read(bodies)
    except InputError:
        return None
    # One pod per head: pods with a common head differ only in their names.
    samples = dict(zip(map(id, heads), range(len(heads)), strict=True)).values()
    apart = [heads[i].metadata for i in samples]
    namespaces, unchecked = {meta.namespace for meta in apart}, [meta.name for meta in apart]
    if len(namespaces) != 1 or not all(names) or not all(map(_is_sound, unchecked)):
        return None
    if any(meta.deletion_timestamp for meta in apart):
        return None
    if any(may_have_generation(bodies[i]) for i in samples):
        return None
    namespace = namespaces.pop() or DEFAULT_NAMESPACE
    taken = draft.table.spaces.get(namespace, {})
    if not taken.keys().isdisjoint(names) or len(set(names)) < len(names):
        return None
    return _add(draft, settings, namespace, CreatedObjects(names, bodies, heads))


def _add(
    draft: TableDraft, settings: CreateSettings, namespace: str, objects: CreatedObjects
) -> Replies:
    """Create objects with unused names."""
    versions = range(draft.version + 1, draft.version + 1 + len(objects.names))
    nodes = ["" if pod is None else pod.spec.node_name for pod in objects.heads]
    records = list(
        map(
            Record,
            repeat(draft.table.kind),
            repeat(namespace),
            objects.names,
            _uids(settings.identity, versions),
            versions,
            objects.bodies,
            nodes,
            repeat(None),
            repeat(settings.created),
        )
    )
    events = list(map(WatchEvent, repeat(EventType.ADDED), records, objects.heads))
    named: Space = dict(zip(objects.names, records, strict=True))
    draft.put_all(namespace, named, events, repeat(None, len(records)))
    return list(map(Reply, repeat(WriteOutcome.OK), repeat(StatusReason.NONE), repeat(""), records))


def new_uid(identity: str, version: int) -> str:
    """The uid of an object that is created at this version."""
    return f"{identity}{version:012x}"


def _uids(identity: str, versions: range) -> list[str]:
    """The uids of objects created at consecutive versions; many share a prefix."""
    found: list[str] = []
    for page in range(versions.start >> 12, (versions.stop + 4095) >> 12):
        front, first = f"{identity}{page:09x}", page << 12
        ends = _ENDS[max(0, versions.start - first) : versions.stop - first]
        found += [front + end for end in ends]
    return found


def _is_sound(name: str) -> bool:
    """Return whether a head has a valid name, or none because many pods share it."""
    return not name or is_dns_subdomain(name)


def _free_name(draft: TableDraft, namespace: str, head: PodHead | ObjectHead, rng: Rng) -> str:
    """Generate another name; empty if all attempts collided."""
    for _ in range(NAME_TRIES):
        name = generated_name(head, rng)
        if draft.find(namespace, name) is None:
            return name
    return ""


def _taken(old: Record) -> Reply:
    place = f"{old.namespace}/{old.name}" if old.namespace else old.name
    text = f"{old.kind.kind} {place} already exists"
    return Reply(WriteOutcome.CONFLICT, StatusReason.ALREADY_EXISTS, text, old)
