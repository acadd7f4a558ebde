"""The store as the dispatcher sees it: pods without a shard are pending."""

from collections.abc import Container
from typing import Final

from stretto.api.types.handover_annotations import (
    Hand,
    HandoverState,
    unknown_value,
)
from stretto.base.clock import Clock
from stretto.base.errors import InputError
from stretto.daemons.roles.store_view import StoreView
from stretto.daemons.roles.views.unbound_pods import UnboundPod
from stretto.stores.store import Record, Store

FIRST_DELAY: Final = 1.0
"""Back-off of a returned pod after its first return, in seconds."""
LONGEST_DELAY: Final = 60.0
"""Longest back-off of a returned pod, in seconds."""


class DispatcherView(StoreView):
    """Store view of the dispatcher: pods without a shard are pending, dispatched ones placed."""

    def __init__(self, inner: Store, names: frozenset[str], clock: Clock) -> None:
        """See the pods with one of these scheduler names."""
        super().__init__(inner, names, clock)
        #: Undecided pods of each shard, by its name.
        self.at: dict[str, dict[str, None]] = {}
        #: Pods whose annotations contradict one another.
        self.abnormal: dict[str, None] = {}
        #: Unknown annotation values of pods: annotation and message, by uid.
        self.unknown: dict[str, tuple[str, str]] = {}
        #: The last shard of each PodGroup, by ``namespace/name``.
        self.group_at: dict[str, str] = {}
        #: PodGroups whose pods may be at several shards.
        self.split: set[str] = set()

    def sight(self, uid: str, standing: HandoverState) -> str | None:
        """Show pods of shards and of the binder as placed, with a planned node on that node."""
        if standing.hand is Hand.PENDING:
            return ""
        if standing.hand is Hand.DISPATCHED:
            return standing.planned or f"shard/{standing.scheduler}"
        return standing.node or None

    def delay(self, known: UnboundPod) -> float:
        """Back-off of a returned pod; it grows with the number of returns."""
        if not known.returns:
            return 0.0
        return min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** min(known.returns - 1, 16))

    def noted(self, record: Record, before: UnboundPod | None, after: HandoverState | None) -> None:
        """Track which shard has which pods."""
        uid = record.uid
        if before is not None and before.standing.hand is Hand.DISPATCHED:
            self.at.get(before.standing.scheduler, {}).pop(uid, None)
        self.abnormal.pop(uid, None)
        self.unknown.pop(uid, None)
        if after is None:
            return
        if after.hand is Hand.DISPATCHED:
            self.at.setdefault(after.scheduler, {})[uid] = None
        elif after.hand is Hand.ABNORMAL:
            self.abnormal[uid] = None
        elif after.hand is Hand.UNKNOWN and (odd := unknown_value(after.notes)) is not None:
            about, (key, known) = f"pod {record.namespace}/{record.name}", odd
            where, expected = f"{about}, annotation {key}", f"one of {', '.join(known)}"
            self.unknown[uid] = about, str(InputError(where, after.notes[key], expected))
        if after.group and after.scheduler:
            key = f"{record.namespace}/{after.group}"
            if self.group_at.setdefault(key, after.scheduler) != after.scheduler:
                self.split.add(key)
            self.group_at[key] = after.scheduler

    def forget_groups(self, known: Container[str]) -> None:
        """Drop the shards of PodGroups that do not exist any more."""
        self.group_at = {key: at for key, at in self.group_at.items() if key in known}

    def split_group_pods(self) -> list[str]:
        """Pods of PodGroups that are split over shards; no shard can place the group alone."""
        if not self.split:
            return []
        groups, found = {key: self.group_at.get(key, "") for key in self.split}, list[str]()
        self.split.clear()
        for name, uids in self.at.items():
            for uid in uids:
                known = self.known[uid]
                key = f"{known.record.namespace}/{known.standing.group}"
                if groups.get(key, name) != name:
                    found.append(uid)
                    self.split.add(key)
        return found
