"""Drafts of all verbs, and their common inputs: identity, time, templates, disruption budgets."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from stretto.api.kinds.table import kind_with_word
from stretto.api.wire.kinds import Kind
from stretto.base.clock import Clock, timestamp
from stretto.base.rng import Rng
from stretto.stores.embedded.bind import draft_binds, draft_evictions, draft_units
from stretto.stores.embedded.create import IDENTITY_CHARS, CreateSettings, draft_creates, new_uid
from stretto.stores.embedded.disruption import DisruptionBudgets
from stretto.stores.embedded.table import ObjectTable, TableDraft
from stretto.stores.embedded.templates import TemplateCache
from stretto.stores.embedded.update import (
    draft_deletion,
    draft_patch,
    draft_status_patch,
    draft_update,
)
from stretto.stores.facts import OwnerFacts
from stretto.stores.store import (
    Bind,
    Deletion,
    Eviction,
    Patch,
    Record,
    Replies,
    UnitReplies,
    Update,
)

Find = Callable[[Kind, str, str], Record | None]
"""Maps (kind, namespace, name) to the current object."""


class StoreOrigin(msgspec.Struct, frozen=True, gc=False):
    """Identity and version from which a store continues."""

    #: First characters of every uid that the store assigns; unique per store.
    identity: str
    #: Last assigned version; the next one is greater.
    version: int = 0


def new_origin(rng: Rng) -> StoreOrigin:
    """Return a new identity, at version 0."""
    return StoreOrigin(rng.uid()[:IDENTITY_CHARS])


class Chance(NamedTuple):
    """Time and randomness of a store."""

    #: Clock of creation and deletion times.
    clock: Clock
    #: Source of suffixes of generated names.
    rng: Rng


class _ScaleSpec(msgspec.Struct, frozen=True, gc=False):
    """Number of replicas of an owner."""

    #: Desired pods; ``None`` if the kind has no such field.
    replicas: int | None = None


class _Scale(msgspec.Struct, frozen=True, gc=False):
    """The part of an owner that disruption budgets read."""

    spec: _ScaleSpec


_SCALE_DECODER: Final = msgspec.json.Decoder(_Scale)


class Drafter:
    """Drafts the changes of write calls."""

    def __init__(
        self,
        identity: str,
        chance: Chance,
        tables: tuple[ObjectTable, ObjectTable],
        find: Find,
    ) -> None:
        """Draft for one store.

        Args:
            identity: first characters of every uid.
            chance: time and randomness.
            tables: pods and disruption budgets.
            find: returns owners of pods.
        """
        self._identity = identity
        self._chance = chance
        self._templates = TemplateCache()
        self._find = find
        #: Enforces disruption budgets.
        self.budgets = DisruptionBudgets(*tables, self._scale)

    def uid(self, version: int) -> str:
        """The uid of an object that is created at this version."""
        return new_uid(self._identity, version)

    def create(self, draft: TableDraft, bodies: Sequence[bytes]) -> Replies:
        """Create objects."""
        settings = CreateSettings(self._identity, self._now(), self._chance.rng, self._templates)
        return draft_creates(draft, bodies, settings)

    def update(self, draft: TableDraft, updates: Sequence[Update]) -> Replies:
        """Replace objects; their status does not change."""
        return [draft_update(draft, each) for each in updates]

    def patch(self, draft: TableDraft, patches: Sequence[Patch]) -> Replies:
        """Change parts of objects; their status does not change."""
        return [draft_patch(draft, each) for each in patches]

    def patch_status(self, draft: TableDraft, patches: Sequence[Patch]) -> Replies:
        """Change only the status of objects."""
        return [draft_status_patch(draft, each) for each in patches]

    def delete(self, draft: TableDraft, deletions: Sequence[Deletion]) -> Replies:
        """Delete objects; mark those with finalizers."""
        now = self._now()
        return [draft_deletion(draft, each, now) for each in deletions]

    def bind(
        self, draft: TableDraft, binds: Sequence[Bind], nodes: Mapping[str, Record]
    ) -> Replies:
        """Bind pods one by one."""
        return draft_binds(draft, binds, nodes)

    def bind_units(
        self, draft: TableDraft, units: Sequence[Sequence[Bind]], nodes: Mapping[str, Record]
    ) -> UnitReplies:
        """Bind units, each as a whole or not at all."""
        return draft_units(draft, units, nodes)

    def evict(self, draft: TableDraft, evictions: Sequence[Eviction]) -> Replies:
        """Evict pods within their disruption budgets."""
        return draft_evictions(draft, evictions, self.budgets, self._now())

    def _now(self) -> str:
        return timestamp(self._chance.clock.now())

    def _scale(self, namespace: str, owner: OwnerFacts) -> int | None:
        """Number of replicas of an owner; ``None`` if the store does not contain the owner."""
        kind = kind_with_word(owner.kind)
        record = self._find(kind, namespace, owner.name) if kind is not None else None
        if record is None:
            return None
        try:
            return _SCALE_DECODER.decode(record.body).spec.replicas
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return None
