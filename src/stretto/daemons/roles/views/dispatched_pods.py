"""The store as a shard sees it: its dispatched pods are pending."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, Protocol

import msgspec

from stretto.api.types.handover_annotations import (
    Hand,
    HandoverState,
    NominatedNote,
    VictimNote,
    assumed,
    nominated,
    rejected,
    tried,
)
from stretto.api.wire.kinds import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM, POD, Kind
from stretto.base.clock import Clock, timestamp
from stretto.daemons.roles.delays import backoff_after
from stretto.daemons.roles.placement_reasons import PlacementReasons
from stretto.daemons.roles.store_view import StoreView
from stretto.daemons.roles.views.guarantees import guarantee_of
from stretto.daemons.roles.views.unbound_pods import UnboundPod
from stretto.stores.capabilities import Capabilities
from stretto.stores.store import (
    Bind,
    Patch,
    Record,
    Replies,
    Reply,
    StatusReason,
    Store,
    WriteOutcome,
)

_NOT_OURS: Final = Reply(
    WriteOutcome.CONFLICT, StatusReason.CONFLICT, "the pod does not belong to this shard"
)
_DONE: Final = Reply(WriteOutcome.OK)


class ShardQuestions(Protocol):
    """Queries of the view to the shard's plane."""

    def is_late(self, uid: str) -> bool:
        """Return whether the unit of a pod already has its nodes, so that the pod is late."""
        ...

    def is_forming(self, uid: str) -> bool:
        """Return whether the unit of a pod waits for other pods, so that it was not tried yet."""
        ...

    def victims_of(self, uid: str) -> tuple[VictimNote, ...]:
        """The pods that must be evicted before a pod can have its node."""
        ...

    def reasons(self) -> PlacementReasons:
        """Movements and reservations that explain placements."""
        ...


class ShardView(StoreView):
    """Store view of a shard: its pods are pending, decided pods are on their nodes."""

    shown_queue = staticmethod(guarantee_of)

    def __init__(
        self,
        inner: Store,
        names: frozenset[str],
        clock: Clock,
        shard: str,
        questions: ShardQuestions,
    ) -> None:
        """See the store as the shard with this name; ``questions`` queries the shard's plane."""
        super().__init__(inner, names, clock)
        self._shard = shard
        #: Pods nominated here. The plane reserves their capacity, so they appear without a node.
        self.ours: set[str] = set()
        self._questions = questions

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities without the wait for volumes: the binder waits for them."""
        return msgspec.structs.replace(super().capabilities, completes_claims=False)

    def patch(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change parts of objects.

        Changes for volumes are assumed here and written by the binder.
        """
        if kind in (PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM):
            return [_DONE] * len(patches)
        return super().patch(kind, patches)

    def sight(self, uid: str, standing: HandoverState) -> str | None:
        """Show pods of this shard as pending and decided pods on their nodes."""
        if standing.hand is Hand.DISPATCHED:
            return "" if standing.scheduler == self._shard else None
        if standing.hand is Hand.NOMINATED and uid in self.ours:
            return ""
        return standing.node or None

    def delay(self, known: UnboundPod) -> float:
        """Back-off of pods that were rejected repeatedly."""
        return backoff_after(known.returns)

    def noted(self, record: Record, before: UnboundPod | None, after: HandoverState | None) -> None:
        """End a nomination of this shard after any other change of the pod."""
        if after is None or after.hand is not Hand.NOMINATED:
            self.ours.discard(record.uid)

    # ------------------------------------------------------------ decisions

    def bind(self, binds: Sequence[Bind]) -> Replies:
        """Write assumptions; nominated pods already belong to the binder."""
        at, places, named = timestamp(self._clock.now()), Counter[str](), Counter[str]()
        bodies: dict[str, dict[str, Any]] = {}
        said: dict[str, Reply] = {}
        for bind in binds:
            known = self.known.get(bind.uid)
            standing = known.standing if known is not None else None
            if standing is None:
                said[bind.uid] = _NOT_OURS
            elif standing.node == bind.node:
                said[bind.uid] = _DONE
            elif standing.hand is not Hand.DISPATCHED or standing.scheduler != self._shard:
                said[bind.uid] = _NOT_OURS
            else:
                index = self._place(bind.uid, bind.namespace, standing, places)
                more = dict(bind.annotations or {})
                more.update(self._questions.reasons().of(bind.uid, bind.node, named))
                bodies[bind.uid] = assumed(standing, bind.node, index, at, more)
        said.update(zip(bodies, self.hand(bodies), strict=True))
        return [said[bind.uid] for bind in binds]

    def patch_status(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Write nominations as annotations, and record that an unplaced pod was tried."""
        if kind is not POD:
            return super().patch_status(kind, patches)
        answers: dict[int, Reply] = {}
        plain: list[tuple[int, Patch]] = []
        for i, patch in enumerate(patches):
            status = patch.patch.get("status") or {}
            if "nominatedNodeName" in status:
                answers[i] = self._nominate(patch.uid, status["nominatedNodeName"])
            else:
                plain.append((i, self._as_tried(patch)))
        sent = super().patch_status(kind, [patch for _, patch in plain]) if plain else []
        answers.update((i, reply) for (i, _), reply in zip(plain, sent, strict=True))
        return [answers[i] for i in range(len(patches))]

    def _nominate(self, uid: str, node: str | None) -> Reply:
        known = self.known.get(uid)
        if known is None:
            return _NOT_OURS
        if node is None:
            if known.standing.hand is not Hand.NOMINATED or uid not in self.ours:
                return _DONE
            return self.hand({uid: rejected(known.standing)})[0]
        places = Counter[str]()
        index = self._place(uid, known.record.namespace, known.standing, places)
        wanted = NominatedNote(node, self._questions.victims_of(uid))
        body = nominated(known.standing, wanted, index, timestamp(self._clock.now()))
        self.ours.add(uid)
        reply = self.hand({uid: body})[0]
        if reply.outcome is not WriteOutcome.OK:
            self.ours.discard(uid)
        return reply

    def _as_tried(self, patch: Patch) -> Patch:
        known = self.known.get(patch.uid)
        if (
            known is None
            or known.standing.hand is not Hand.DISPATCHED
            or self._questions.is_forming(patch.uid)
        ):
            return patch
        more = tried(known.standing)
        return msgspec.structs.replace(patch, patch={**more, **patch.patch}) if more else patch

    def _place(
        self, uid: str, namespace: str, standing: HandoverState, places: Counter[str]
    ) -> int | None:
        """Place of a pod in its unit, as far as this batch contains it."""
        if self._questions.is_late(uid):
            return None
        if not standing.group:
            return 0
        key = f"{namespace}/{standing.group}"
        places[key] += 1
        return places[key] - 1
