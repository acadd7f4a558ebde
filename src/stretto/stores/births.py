"""Drafting new objects: a hot path of the store. A pod is decoded here once, for everybody."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from stretto.api.heads import ObjectHead, PodHead
from stretto.api.kinds import POD
from stretto.api.names import is_dns_subdomain
from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.stores.admission import (
    DEFAULT_NAMESPACE,
    decode_object,
    decode_pod,
    made_up,
    place_of,
)
from stretto.stores.changes import invalid
from stretto.stores.store import Code, Event, EventType, Outcome, Record, Replies, Reply
from stretto.stores.table import Draft, Space

WORTHWHILE: Final = 8
"""Pods in one call from which columns are quicker than one by one."""
NAME_TRIES: Final = 8
"""How often a made-up name is made anew when it is taken, as an API server does."""

IDENTITY_CHARS: Final = 24
"""Characters of a uid that all objects of a store share; the version at birth follows."""


class Birth(msgspec.Struct, frozen=True, gc=False):
    """What new objects get from their store."""

    #: First characters of every uid.
    identity: str
    #: RFC 3339 time.
    created: str
    #: Where endings of made-up names come from.
    rng: Rng


def draft_births(draft: Draft, bodies: Sequence[bytes], birth: Birth) -> Replies:
    """Add objects. A uid is the store's identity and a version, which no other object ever has."""
    if draft.table.kind == POD and len(bodies) >= WORTHWHILE:
        drafted_at_once = _draft_pods(draft, bodies, birth)
        if drafted_at_once is not None:
            return drafted_at_once
    kind, spaces, staged = draft.table.kind, draft.table.spaces, draft.staged
    events, version = draft.events, draft.version
    identity, created, rng = birth.identity, birth.created, birth.rng
    added, ok, none = EventType.ADDED, Outcome.OK, Code.NONE
    pods = kind == POD
    replies: Replies = []
    answer = replies.append
    namespace: str | None = None
    drafted: Space = {}
    space: Mapping[str, Record] = {}
    for body in bodies:
        try:
            head = decode_pod(body) if pods else decode_object(kind, body)
            place, name = place_of(kind, head, rng)
        except InputError as error:
            answer(invalid(error))
            continue
        if place != namespace:
            namespace = place
            space = spaces.get(place, {})
            drafted = staged.setdefault(place, {})
        if name in space or name in drafted:
            free = "" if head.metadata.name else _free_name(head, (space, drafted), rng)
            if not free:
                answer(_taken(draft, place, name))
                continue
            name = free
        version += 1
        pod = head if isinstance(head, PodHead) else None
        node = "" if pod is None else pod.spec.node_name
        uid = f"{identity}{version:012x}"
        new = Record(kind, place, name, uid, version, body, node, None, created)
        drafted[name] = new
        events.append(Event(added, new, pod))
        answer(Reply(ok, none, "", new))
    draft.version = version
    draft.olds = [None] * len(events)
    return replies


def _draft_pods(draft: Draft, bodies: Sequence[bytes], birth: Birth) -> Replies | None:
    """Add sound pods of one namespace, all of them new; ``None`` where they are anything else."""
    try:
        heads = [decode_pod(body) for body in bodies]
    except InputError:
        return None
    metas = [head.metadata for head in heads]
    names, namespace = [meta.name for meta in metas], metas[0].namespace
    if not all(map(is_dns_subdomain, names)) or {meta.namespace for meta in metas} != {namespace}:
        return None
    namespace = namespace or DEFAULT_NAMESPACE
    drafted = draft.staged.setdefault(namespace, {})
    taken = draft.table.spaces.get(namespace, {})
    if drafted or not taken.keys().isdisjoint(names) or len(set(names)) < len(names):
        return None
    identity, created = birth.identity, birth.created
    versions = range(draft.version + 1, draft.version + 1 + len(bodies))
    records = [
        Record(
            POD,
            namespace,
            name,
            f"{identity}{version:012x}",
            version,
            body,
            head.spec.node_name,
            None,
            created,
        )
        for name, version, body, head in zip(names, versions, bodies, heads, strict=True)
    ]
    drafted.update(zip(names, records, strict=True))
    added, ok, none = EventType.ADDED, Outcome.OK, Code.NONE
    draft.events += [
        Event(added, record, head) for record, head in zip(records, heads, strict=True)
    ]
    draft.olds += [None] * len(records)
    draft.version = versions[-1]
    return [Reply(ok, none, "", record) for record in records]


def _free_name(
    head: PodHead | ObjectHead, taken: tuple[Mapping[str, object], ...], rng: Rng
) -> str:
    """Another made-up name, or the empty text where all tries were taken."""
    for _ in range(NAME_TRIES):
        name = made_up(head, rng)
        if not any(name in names for names in taken):
            return name
    return ""


def _taken(draft: Draft, namespace: str, name: str) -> Reply:
    old = draft.find(namespace, name)
    place = f"{namespace}/{name}" if namespace else name
    text = f"{draft.table.kind.kind} {place} exists already"
    return Reply(Outcome.CONFLICT, Code.ALREADY_EXISTS, text, old)
