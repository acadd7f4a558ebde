"""Drafts of binds (of one pod or of a whole unit), and of evictions.

Binding is the hot path of the store: many pods at once, no copy of a body, small records.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise, repeat

from stretto.api.wire.kinds import POD
from stretto.base.arrays import WORTHWHILE
from stretto.stores.embedded.disruption import DisruptionBudgets
from stretto.stores.embedded.table import TableDraft
from stretto.stores.embedded.update import leave, not_found
from stretto.stores.store import (
    Bind,
    EventType,
    Eviction,
    Record,
    Replies,
    Reply,
    StatusReason,
    UnitReplies,
    WatchEvent,
    WriteOutcome,
)


def draft_binds(draft: TableDraft, binds: Sequence[Bind], nodes: Mapping[str, Record]) -> Replies:
    """Bind pods to nodes, one by one."""
    if len(binds) >= WORTHWHILE:
        bound = _bind_all(draft, binds, nodes)
        if bound is not None:
            return bound
    return [_bind_one(draft, bind, nodes) for bind in binds]


def _bind_one(draft: TableDraft, bind: Bind, nodes: Mapping[str, Record]) -> Reply:
    """Bind one pod, or return the reason why it cannot be bound."""
    old = draft.find(bind.namespace, bind.name)
    if old is None:
        return not_found(draft, bind.namespace, bind.name)
    if old.uid != bind.uid:
        return _namesake(old)
    if old.node or old.deleting or bind.node not in nodes:
        return _not_bound(bind, old)
    return Reply(
        WriteOutcome.OK, record=draft.put(old, _bound(old, bind, draft.version + 1), bind=True)
    )


def _bind_all(
    draft: TableDraft, binds: Sequence[Bind], nodes: Mapping[str, Record]
) -> Replies | None:
    """Bind pods of one namespace if all of them can be bound; otherwise ``None``."""
    namespaces = {bind.namespace for bind in binds}
    if len(namespaces) != 1:
        return None
    (namespace,) = namespaces
    names = [bind.name for bind in binds]
    if draft.staged.get(namespace) or len(set(names)) < len(names):
        return None
    found = list(map(draft.table.spaces.get(namespace, {}).get, names))
    olds = [old for old in found if old is not None and not (old.node or old.deleting)]
    if len(olds) < len(binds) or [old.uid for old in olds] != [bind.uid for bind in binds]:
        return None
    if not nodes.keys() >= {bind.node for bind in binds}:
        return None
    versions = range(draft.version + 1, draft.version + 1 + len(binds))
    records = list(map(_bound, olds, binds, versions))
    modified = repeat(EventType.MODIFIED)
    events = list(map(WatchEvent, modified, records, repeat(None), repeat(True)))
    draft.put_all(namespace, dict(zip(names, records, strict=True)), events, olds)
    return list(map(Reply, repeat(WriteOutcome.OK), repeat(StatusReason.NONE), repeat(""), records))


def _bound(old: Record, bind: Bind, version: int) -> Record:
    """The record of a bound pod; it shares the body of the old record."""
    notes = None if bind.annotations is None else dict(bind.annotations)
    return Record(
        POD, old.namespace, old.name, old.uid, version, old.body, bind.node, notes, old.created
    )


def draft_units(
    draft: TableDraft, units: Sequence[Sequence[Bind]], nodes: Mapping[str, Record]
) -> UnitReplies:
    """Bind units, each as a whole or not at all."""
    bound = _bind_all(draft, [bind for unit in units for bind in unit], nodes)
    if bound is not None:
        ends = accumulate(map(len, units), initial=0)
        return [bound[start:stop] for start, stop in pairwise(ends)]
    answers = []
    for unit in units:
        mark = len(draft.events)
        replies = draft_binds(draft, unit, nodes)
        failed = None
        if len(draft.events) < mark + len(unit):  # at least one bind creates no new record
            failed = next(
                (reply for reply in replies if reply.outcome is not WriteOutcome.OK), None
            )
        if failed is not None:
            draft.rewind(mark)
            replies = [_unit_refused(reply, failed) for reply in replies]
        answers.append(replies)
    return answers


def draft_evictions(
    draft: TableDraft, evictions: Sequence[Eviction], budgets: DisruptionBudgets, now: str
) -> Replies:
    """Evict pods within their disruption budgets, or beyond them if ``beyond_budget`` is set."""
    replies: Replies = []
    for eviction in evictions:
        old = draft.find(eviction.namespace, eviction.name)
        if old is None:
            replies.append(not_found(draft, eviction.namespace, eviction.name))
            continue
        if old.uid != eviction.uid:
            replies.append(_namesake(old))
            continue
        if not eviction.beyond_budget:
            refusal = budgets.refusal(old)
            if refusal is not None:
                replies.append(refusal)
                continue
            budgets.spend(old)
        replies.append(Reply(WriteOutcome.OK, record=leave(draft, old, now)))
    return replies


def _not_bound(bind: Bind, old: Record) -> Reply:
    """The reply to a bind of a bound or terminating pod, or to a node that does not exist."""
    if old.node == bind.node:
        return Reply(WriteOutcome.OK, record=old)
    if old.node or old.deleting:
        state = f"bound to {old.node}" if old.node else "being deleted"
        text = f"pod {old.namespace}/{old.name} is {state}; release its claim"
        return Reply(WriteOutcome.CONFLICT, StatusReason.CONFLICT, text, old)
    text = f"node {bind.node} was not found; place pod {old.namespace}/{old.name} again"
    return Reply(WriteOutcome.REFUSED, StatusReason.NOT_FOUND, text, old)


def _namesake(old: Record) -> Reply:
    text = f"pod {old.namespace}/{old.name} was replaced by another pod, with uid {old.uid}"
    return Reply(WriteOutcome.CONFLICT, StatusReason.CONFLICT, text, old)


def _unit_refused(reply: Reply, failed: Reply) -> Reply:
    """The reply to a pod that could be bound if its unit could."""
    if reply.outcome is not WriteOutcome.OK:
        return reply
    text = f"not bound, because its unit could not be bound as a whole: {failed.message}"
    return Reply(WriteOutcome.CONFLICT, StatusReason.CONFLICT, text)
