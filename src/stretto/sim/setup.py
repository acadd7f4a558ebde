"""From a scenario to a store and a plane: what ``stretto run`` is built from."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from stretto.api.codec import decode_as
from stretto.api.edit.yaml_text import load_documents
from stretto.api.types.godel import Queue
from stretto.api.wire.kinds import QUEUE
from stretto.base.clock import Clock
from stretto.base.errors import InputError, UnknownNameError
from stretto.base.rng import Rng
from stretto.control.queues.config import dispatcher_config, queue_config
from stretto.control.reporting.reporter import ReportConfig
from stretto.framework.profile.load import known_rules
from stretto.framework.profile.profile import PROFILES, Profile, load_profile
from stretto.inputs.scenario.feed import Feed
from stretto.inputs.scenario.schema import Scenario
from stretto.plane import Plane, PlaneConfig
from stretto.state.cluster.config import SCHEDULER_NAME, ClusterConfig
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.embedded.sqlite import SqliteStore
from stretto.stores.store import Store

MEMORY: Final = "memory"
"""A store that is gone with its process."""
STORES: Final = (MEMORY, "sqlite:PATH")
"""How a store is spelled on the command line."""

ProfileSource = str | dict[str, Any]
"""What a profile is made from: a name, or a mapping."""


class SchedulingRules(NamedTuple):
    """What decides where pods go."""

    #: What the profile is made from.
    source: ProfileSource
    #: Kernel tier: ``auto``, ``numba`` or ``numpy``.
    tier: str = "auto"
    #: Whether what waits is told in the store, by conditions and events.
    events: bool = False
    #: Files with rules of their own, which the profile may name.
    plugins: tuple[Path, ...] = ()


class PlaneSettings(NamedTuple):
    """What a plane is told beside its rules."""

    #: Scheduler shards.
    shards: int = 1
    #: Seed of every draw the plane makes.
    seed: int = 0
    #: Names in a pod's ``schedulerName`` that it answers to, beside the profile's own.
    scheduler_names: frozenset[str] = frozenset({SCHEDULER_NAME})


class LiveSite(NamedTuple):
    """A store and the plane over it."""

    #: Where the objects live.
    store: Store
    #: The scheduler.
    plane: Plane


def open_store(spelled: str, clock: Clock, rng: Rng) -> MemoryStore | SqliteStore:
    """The store that a command line names.

    Raises:
        UnknownNameError: there is no such kind of store.
        InputError: its file cannot be used.
    """
    kind, _, path = spelled.partition(":")
    if spelled == MEMORY:
        return MemoryStore(clock, rng)
    if kind != "sqlite":
        raise UnknownNameError("store", spelled, STORES)
    if not path:
        raise InputError("--store", spelled, "sqlite: and the path of a file", "sqlite:run.db")
    return SqliteStore(Path(path), clock, rng)


def profile_source(
    scenario: Scenario, policy: str = "", profile: str = "", plugins: Sequence[Path] = ()
) -> ProfileSource:
    """What the profile of a run is made from.

    Args:
        scenario: what the file says.
        policy: a policy that replaces the scenario's; empty keeps it.
        profile: a profile (name or file) that replaces the scenario's; empty keeps it.
        plugins: files with rules that the profile may name.

    Raises:
        UnknownNameError: there is no such policy or profile.
        InputError: the profile's file cannot be read.
    """
    own = scenario.policy if not policy and not profile else None
    if own and own not in PROFILES:
        raise UnknownNameError(f"policy in {scenario.where}", own, PROFILES)
    return chosen_source(scenario.profile or "default", policy or own or "", profile, plugins)


def chosen_source(
    own: ProfileSource, policy: str = "", profile: str = "", plugins: Sequence[Path] = ()
) -> ProfileSource:
    """A profile's source with another profile or policy put in its place; empty keeps it.

    Raises:
        UnknownNameError: there is no such policy or profile.
        InputError: the profile's file cannot be read.
    """
    given = _named(profile, plugins) if profile else own
    if not policy:
        return given
    if policy not in PROFILES:
        raise UnknownNameError("policy", policy, PROFILES)
    return policy if given == "default" else _scored_by(policy, given)


def _named(profile: str, plugins: Sequence[Path]) -> ProfileSource:
    """A profile by name, or the content of its file: a record outlives the file."""
    if profile in PROFILES:
        return profile
    load_profile(profile, known_rules(plugins))
    documents = load_documents(Path(profile).read_bytes(), profile)
    return dict(next(iter(documents))[1])


def _scored_by(policy: str, given: str | Mapping[str, Any]) -> dict[str, Any]:
    """A profile whose scores, tie rule and device pick are those of a policy."""
    if isinstance(given, str):
        given = PROFILES.get(given)
    asked = PROFILES.get(policy).get("profiles", [{}])[0]
    profiles = [dict(each) for each in given.get("profiles", [{}])]
    for each in profiles:
        each["plugins"] = {**(each.get("plugins") or {}), **(asked.get("plugins") or {})}
        each["stretto"] = {**(each.get("stretto") or {}), **(asked.get("stretto") or {})}
    return {**given, "profiles": profiles}


def build_site(
    scenario: Scenario, feed: Feed, rules: SchedulingRules, store: Store, clock: Clock
) -> LiveSite:
    """A plane over a store, as a scenario wants it."""
    queues = [decode_as(Queue, body) for kind, body in feed.objects if kind is QUEUE]
    settings = PlaneSettings(scenario.shards, Rng(scenario.seed).child("plane").seed)
    return LiveSite(store, build_plane(rules, settings, queues, store, clock))


def build_plane(
    rules: SchedulingRules,
    settings: PlaneSettings,
    queues: Sequence[Queue],
    store: Store,
    clock: Clock,
) -> Plane:
    """A plane over a store."""
    profile: Profile = load_profile(rules.source, known_rules(rules.plugins))
    dispatcher = dispatcher_config(profile).having(map(queue_config, queues))
    config = PlaneConfig(
        profile=profile,
        shards=settings.shards,
        cluster=ClusterConfig(scheduler_names=settings.scheduler_names),
        dispatcher=dispatcher,
        seed=settings.seed,
        tier=rules.tier,
        report=ReportConfig() if rules.events else None,
    )
    return Plane(config, store, clock)


def overridden(scenario: Scenario, **changes: Any) -> Scenario:
    """A scenario with some keys replaced; those that are ``None`` are kept."""
    kept = {name: value for name, value in changes.items() if value is not None}
    return msgspec.structs.replace(scenario, **kept)
