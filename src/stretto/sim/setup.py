"""Builds the plane of ``stretto run`` from a scenario."""

from typing import Any, NamedTuple

import msgspec

from stretto.api.codec import decode_as
from stretto.api.types.godel import Queue
from stretto.api.wire.kinds import QUEUE
from stretto.base.clock import Clock
from stretto.base.rng import Rng
from stretto.inputs.scenario.feed import Feed
from stretto.inputs.scenario.schema import Scenario
from stretto.plane.copy import PlaneSettings, SchedulingRules, build_plane
from stretto.plane.plane import Plane
from stretto.stores.store import Store


class LiveSite(NamedTuple):
    """A store and the plane over it."""

    #: The store of the objects.
    store: Store
    #: The scheduler.
    plane: Plane


def build_site(
    scenario: Scenario, feed: Feed, rules: SchedulingRules, store: Store, clock: Clock
) -> LiveSite:
    """A plane over a store, with the queues and settings of a scenario."""
    queues = [decode_as(Queue, body) for kind, body in feed.objects if kind is QUEUE]
    settings = PlaneSettings(scenario.shards, Rng(scenario.seed).child("plane").seed)
    return LiveSite(store, build_plane(rules, settings, queues, store, clock))


def overridden(scenario: Scenario, **changes: Any) -> Scenario:
    """A scenario with some keys replaced; a value of ``None`` changes nothing."""
    given = {name: value for name, value in changes.items() if value is not None}
    return msgspec.structs.replace(scenario, **given)
