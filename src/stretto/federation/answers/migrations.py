"""Migration with one command: objects that leave a cluster, their targets, and the annotations."""

import json
from collections.abc import Iterable
from typing import Final

import msgspec

from stretto.base.clock import timestamp
from stretto.federation import names
from stretto.federation.answers.records import MigrationRow
from stretto.federation.answers.subjects import FleetReader, title
from stretto.federation.controllers.keys import FederatedItem
from stretto.federation.objects.current import current_replicas
from stretto.reconcile.cache import Fields, StoredObject

BEFORE: Final = names.OWN_PREFIX + "migration-before"
"""Annotation of a source with its migration before the last ``migrate`` command; empty for none."""


def migration_rows(
    reader: FleetReader, items: Iterable[FederatedItem], cluster: str, until: float
) -> list[MigrationRow]:
    """Changes of placement if objects leave a cluster.

    Args:
        reader: the fleet.
        items: the objects.
        cluster: the cluster to leave.
        until: end of the migration in seconds since the epoch.
    """
    rows = []
    for item in items:
        before = dict(sorted(current_replicas(item.federated, item.type).items()))
        if cluster not in before:
            continue
        result = reader.decision(item, without={cluster: until}).result
        after = dict(sorted(result.replicas.items())) if result is not None else before
        waiting = sum(result.waiting.values()) + result.unplaced if result is not None else 0
        moves = sum(max(0, (count or 0) - (before.get(name) or 0)) for name, count in after.items())
        rows.append(MigrationRow(title(item), before, after, moves, waiting))
    return rows


def within_budget(rows: Iterable[MigrationRow], most: int | None) -> list[MigrationRow]:
    """The first objects whose moves add up to at most ``most``; ``None`` for no limit."""
    chosen, sum_ = [], 0
    for row in rows:
        sum_ += row.moves
        if most is not None and sum_ > most:
            break
        chosen.append(row)
    return chosen


def migrating(source: StoredObject, cluster: str, until: float) -> Fields:
    """The patch that moves a source off a cluster; an annotation saves the previous migration."""
    text = source.annotations.get(names.MIGRATION, "")
    found: Fields = json.loads(text or "{}")
    others = [each for each in found.get("workloadMigrations") or () if each["cluster"] != cluster]
    entry = {"cluster": cluster, "validUntil": timestamp(int(until))}
    made = {**found, "workloadMigrations": [*others, entry]}
    before = source.annotations.get(BEFORE, text)
    notes = {names.MIGRATION: msgspec.json.encode(made).decode(), BEFORE: before}
    return {"metadata": {"annotations": notes}}


def undone(source: StoredObject) -> Fields | None:
    """The patch that restores the previous migration; ``None`` if none was saved."""
    before = source.annotations.get(BEFORE)
    if before is None:
        return None
    return {"metadata": {"annotations": {names.MIGRATION: before or None, BEFORE: None}}}
