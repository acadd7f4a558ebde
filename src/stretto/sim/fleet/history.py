"""Events of federated objects during the run of a fleet."""

import json
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Final

import msgspec

from stretto.base.clock import Clock
from stretto.federation import names
from stretto.federation.controllers.keys import FEDERATED
from stretto.federation.fleet import HOST
from stretto.federation.objects import placements
from stretto.reconcile.cache import Change, StoredObject


class FleetStep(msgspec.Struct, frozen=True):
    """One event of an object, or of the fleet."""

    #: Seconds since the start.
    at_s: float
    #: ``namespace/name`` of the object, or ``cluster NAME``.
    subject: str
    #: The event.
    event: str
    #: Its cause or detail; empty for none.
    detail: str = ""


class FleetHistory:
    """Records the changes of a host, as a controller without work."""

    name: Final = "history"

    def __init__(self, clock: Clock) -> None:
        """Start now."""
        self._clock = clock
        self._start = clock.now()
        #: All steps, in order.
        self.steps: list[FleetStep] = []

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Record the change; return no keys."""
        if change.source == HOST and change.kind.kind in FEDERATED:
            self._note(_title(change.object), list(_events(change.old, change.new)))
        elif change.source == HOST and change.kind.kind == "FederatedCluster":
            found = list(_of_cluster(change.old, change.new))
            self._note(f"cluster {change.object.record.name}", found)
        return ()

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Do nothing; it is never called."""
        return None

    def _note(self, subject: str, events: list[tuple[str, str]]) -> None:
        at = round(self._clock.now() - self._start, 3)
        self.steps += [FleetStep(at, subject, event, detail) for event, detail in events]


def _title(federated: StoredObject) -> str:
    name = str(federated.spec["template"]["metadata"]["name"])
    namespace = federated.record.namespace
    return f"{namespace}/{name}" if namespace else name


def _events(old: StoredObject | None, new: StoredObject | None) -> Iterator[tuple[str, str]]:
    if new is None:
        yield "removed", "its federated object was deleted"
        return
    if old is None:
        yield "federated", ""
    before, after = _placed(old), _placed(new)
    if before != after:
        yield "placed", f"{_counts(before)} -> {_counts(after)}" if old else _counts(after)
    for event, key in (("waiting", names.WAITING), ("migration", names.APPLIED_MIGRATION)):
        was = old.annotations.get(key) if old is not None else None
        now = new.annotations.get(key)
        if was != now:
            yield event, now or "none"
    verdict, last = _verdict(new), _verdict(old)
    if verdict != last:
        yield "rollout", verdict
    synced, was_synced = _states(new), _states(old)
    for cluster in sorted(synced):
        if synced[cluster] != was_synced.get(cluster):
            yield "written", f"{cluster}: {synced[cluster]}"


def _of_cluster(old: StoredObject | None, new: StoredObject | None) -> Iterator[tuple[str, str]]:
    states = [_conditions(old), _conditions(new)]
    if new is None:
        yield "left", ""
    elif states[0] != states[1]:
        yield "state", ", ".join(f"{key}={value}" for key, value in sorted(states[1].items()))


def _placed(item: StoredObject | None) -> dict[str, Any]:
    if item is None:
        return {}
    found: dict[str, Any] = dict.fromkeys(sorted(placements.placement(item.spec)))
    for cluster, patches in placements.overrides_by(item.spec, names.SCHEDULER).items():
        found[cluster] = next((each.get("value") for each in patches), None)
    return found


def _counts(found: dict[str, Any]) -> str:
    return " ".join(f"{k}={'all' if v is None else v}" for k, v in found.items()) or "nowhere"


def _verdict(item: StoredObject | None) -> str:
    text = item.annotations.get(names.ROLLOUT_STATUS) if item is not None else None
    return str(json.loads(text).get("verdict", "")) if text else ""


def _states(item: StoredObject | None) -> dict[str, str]:
    listed = item.status.get("clusters") or () if item is not None else ()
    return {each["cluster"]: each["status"] for each in listed}


def _conditions(cluster: StoredObject | None) -> dict[str, str]:
    listed = cluster.status.get("conditions") or () if cluster is not None else ()
    return {each["type"]: each["status"] for each in listed}
