"""A scenario as a timeline: the objects and arrivals that ``stretto run`` creates."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from stretto.api.wire.kinds import NODE, POD, POD_GROUP, SCALING_POLICY
from stretto.base.rng import Rng
from stretto.inputs.conversion.timeline import TimedChange, Timeline, TimelineCounts
from stretto.inputs.objects.recordings import ChangeType
from stretto.inputs.scenario.arrivals import ObjectArrival
from stretto.inputs.scenario.feed import Feed, materialise
from stretto.inputs.scenario.read import load_scenario


def scenario_timeline(path: Path) -> Timeline:
    """The timeline of a scenario, drawn with its own seed.

    Raises:
        InputError: the file cannot be used.
    """
    scenario = load_scenario(path)
    feed = materialise(scenario, Rng(scenario.seed))
    early = [each for each in feed.arrivals if each.time_s <= 0]
    objects = [(kind, _object(body)) for kind, body in feed.objects]
    objects += [(each.kind, _object(each.body)) for each in early]
    changes = sorted([*_changes(feed.arrivals), *_scalings(feed)], key=lambda each: each[0])
    counts = TimelineCounts(
        nodes=sum(kind is NODE for kind, _ in objects),
        pods=feed.pods + sum(kind is POD for kind, _ in feed.objects),
        gangs=sum(each.kind is POD_GROUP for each in feed.arrivals),
    )
    return Timeline(
        format="scenario",
        counts=counts,
        objects=objects,
        changes=changes,
        seconds=_seconds(feed),
        notes=tuple(feed.notes),
    )


def _changes(arrivals: Sequence[ObjectArrival]) -> Iterator[TimedChange]:
    """Arrivals after second 0, and deletions at fixed seconds."""
    for each in arrivals:
        if each.time_s > 0:
            yield each.time_s, ChangeType.ADDED, each.kind, _object(each.body)
    for each in arrivals:
        if each.departure_s is not None:
            yield each.departure_s, ChangeType.DELETED, each.kind, _object(each.body)


def _scalings(feed: Feed) -> Iterator[TimedChange]:
    """Changes of the replicas of scaling policies."""
    policies = {
        (found["metadata"].get("namespace", ""), found["metadata"]["name"]): found
        for kind, body in feed.objects
        if kind == SCALING_POLICY
        for found in (_object(body),)
    }
    for each in feed.demands:
        policy = policies[each.namespace, each.policy]
        scaled = {**policy, "spec": {**policy["spec"], "replicas": each.replicas}}
        yield each.time_s, ChangeType.MODIFIED, SCALING_POLICY, scaled


def _seconds(feed: Feed) -> float:
    """The last second at which something arrives or ends, if all pods start at once."""
    return max(
        (max(each.departure_s or 0.0, each.time_s + (each.duration_s or 0.0))
         for each in feed.arrivals),
        default=0.0,
    )  # fmt: skip


def _object(body: bytes) -> dict[str, Any]:
    """An object with a uid: its kind, namespace and name."""
    found: dict[str, Any] = msgspec.json.decode(body)
    meta = found["metadata"]
    meta["uid"] = f"{found['kind'].lower()}-{meta.get('namespace', '')}-{meta['name']}"
    return found
