"""Draws of a seed before the first step: plane, store, fleet, pace and odds.

Swarm testing: each seed omits some kinds of faults and changes and emphasises others, so that no
kind masks another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import inf
from typing import Final

import msgspec

from stretto.base.rng import Rng
from stretto.control.queues.config import DispatcherConfig, dispatcher_config
from stretto.framework.profile.profile import Profile, load_profile
from stretto.plane.config import PlaneConfig
from stretto.state.work.claims import CommitMode, ConflictMode
from stretto_lab.chaos.draws.affinity import GroupAffinity
from stretto_lab.chaos.draws.overcommit import OvercommitDraw
from stretto_lab.chaos.draws.pods import NodeShapeDraw, PodRequest
from stretto_lab.chaos.draws.preemption import PreemptionDraw
from stretto_lab.chaos.draws.queues import QueueDraw
from stretto_lab.chaos.draws.sub_clusters import SubClusterDraw

START: Final = 1000.0
"""Clock time of the first step, in seconds."""
HOSTS_FAILPOINT: Final = "hosts.answered"
"""Failpoint after hosts have answered and before anything is confirmed; only if hosts decide."""
FAILPOINTS: Final = (
    "pump.polled",
    "pump.listed",
    "dispatcher.absorbed",
    "dispatcher.handed-out",
    "shard.planned",
    "binder.charged",
    "binder.before-write",
    "binder.after-write",
    "binder.answered",
    "evictor.granted",
    "evictor.before-write",
    "evictor.after-write",
    HOSTS_FAILPOINT,
)
"""All failpoints of the plane; a test compares this list with the source."""

_CRASHES: Final = {"binder": 0.1, "evictor": 0.5}
"""Maximum odds for failpoints that are passed less often than once per step."""

SHARED_ODDS: Final[Mapping[str, float]] = {
    "drop_event": 0.05,
    "cut_event": 0.02,
    "double_event": 0.2,
    "delay_event": 0.1,
    "stale_event": 0.2,
    "cut_watch": 0.01,
    "stale_list": 0.5,
    "lost_reply": 0.3,
    "lost_request": 0.3,
    "late_request": 0.3,
    "half_batch": 0.3,
    "refused_write": 0.3,
    "late_plan": 0.5,
    "lost_plan_of_the_dead": 0.9,
    "clock_jump": 0.02,
    "kill_shard": 0.02,
    "kill_binder": 0.02,
    "kill_pump": 0.01,
    "kill_plane": 0.005,
    "whole_plane_dies": 0.3,
    "store_crash": 0.03,
    **{
        f"crash {name}": _CRASHES.get(name.partition(".")[0], 0.03)
        for name in FAILPOINTS
        if name != HOSTS_FAILPOINT
    },
    "late_answer": 0.9,
}
"""Maximum odds of each kind that is drawn in one stream."""

HOST_ODDS: Final[Mapping[str, float]] = {f"crash {HOSTS_FAILPOINT}": 0.5}
"""Maximum odds of faults of host actors; their separate stream keeps the draws of known seeds."""

HIGHEST_ODDS: Final[Mapping[str, float]] = {**SHARED_ODDS, **HOST_ODDS}
"""Maximum odds of each kind."""

CHANGES: Final = (
    "add_pod",
    "add_service",
    "add_gang",
    "late_group",
    "gang_grows",
    "delete_pod",
    "finish_pod",
    "recreate_pod",
    "remove_node",
    "readd_node",
    "add_node",
    "cordon",
    "relabel",
    "rezone",
    "resize_up",
    "change_group",
    "delete_group",
    "foreign_bind",
    "steal",
    "ungate",
    "collect_garbage",
)
"""All changes of the world."""

PROFILES: Final = ("default", "default", "default", "packing", "best-fit", "fgd", "random")
EXACT: Final = "kube-parity"
EXACT_SHARE: Final = 0.7
"""Share of seeds without GPUs and reservations that use an exact kube-scheduler profile."""
POOLS_SHARE: Final = 0.25
"""Share of the other seeds in which node agents report best-effort pools."""
HOSTS_SHARE: Final = 0.2
"""Share of seeds in which hosts decide about claims."""
SQLITE_SHARE: Final = 0.06
"""Share of seeds on SQLite: a commit costs a thousand times as much as in memory."""
POD_BY_POD_SHARE: Final = 0.5
"""Share of seeds with late answers whose store has no transactions, like an API server. Gangs are
then bound pod by pod."""
WITHOUT_NET_SHARE: Final = 0.7
"""Share of seeds in which no unschedulable unit is retried without an event."""
MODELS: Final = ("A100", "T4")


class ChaosSetup(msgspec.Struct, frozen=True):
    """All draws before the first step."""

    #: The seed.
    seed: int
    #: Profile by name.
    profile: str
    #: Condition under which claims conflict.
    conflicts: ConflictMode
    #: The effect of a conflict on its unit.
    commit: CommitMode
    #: Scheduler shards.
    shards: int
    #: Pods that a shard places in a cycle.
    batch: int
    #: Kernel tier.
    tier: str
    #: True if shards have partitions.
    partition: bool
    #: Seconds between comparisons with a fresh list.
    compare_every: float
    #: True if the store is SQLite.
    durable: bool
    #: Nodes at the start.
    fleet: tuple[NodeShapeDraw, ...]
    #: Requests that pods choose from.
    requests: tuple[PodRequest, ...]
    #: Pods, services and gangs created before the first step.
    head_start: int
    #: Mean number of changes per step.
    pace: float
    #: Seconds between steps, to choose from.
    ticks: tuple[float, ...]
    #: Weight of each kind of change.
    weights: Mapping[str, float]
    #: Odds of each kind of fault.
    odds: Mapping[str, float]

    @property
    def lands_whole(self) -> bool:
        """True if the store binds gangs in one transaction; false for half of the late stores.

        A separate stream leaves all other draws of the seed unchanged.
        """
        late = self.odds.get("late_answer", 0.0) > 0.0
        return not late or Rng(self.seed).child("transactions").random() >= POD_BY_POD_SHARE

    def plane_config(self) -> PlaneConfig:
        """Configuration of the plane."""
        preemption = PreemptionDraw(self.seed)
        profile = msgspec.structs.replace(
            OvercommitDraw(self.seed).rules(
                SubClusterDraw(self.seed).rules(_profile(self.profile))
            ),
            conflicts=self.conflicts,
            commit=self.commit,
            preemption=preemption.rules,
            rescheduling=preemption.moving.rules,
            evict_over_committed_after=preemption.overcommit_delay,
        )
        return PlaneConfig(
            profile=profile,
            shards=self.shards,
            dispatcher=self._dispatcher(profile),
            seed=self.seed,
            tier=self.tier,
            batch=self.batch,
            partition=self.partition,
            compare_every=self.compare_every,
        )

    def _dispatcher(self, profile: Profile) -> DispatcherConfig:
        """The dispatcher; some seeds have no periodic retries, which would hide missed events."""
        config = dispatcher_config(profile)
        if Rng(self.seed).child("safety net").random() < WITHOUT_NET_SHARE:
            return replace(config, safety_net=inf)
        return config


def _conflicts(seed: int, rng: Rng) -> ConflictMode:
    """The conflict mode; its separate stream keeps the other draws of known seeds."""
    omega = ConflictMode.FIT if rng.random() < 0.7 else ConflictMode.VERSION
    by_hosts = Rng(seed).child("hosts").random() < HOSTS_SHARE
    return ConflictMode.HOSTS if by_hosts else omega


def draw(seed: int) -> ChaosSetup:
    """Draw the setup of a seed."""
    rng = Rng(seed).child("setup")
    zones = "abc"[: rng.randint(1, 3)]
    with_gpus = rng.random() < 0.6
    drawn = ChaosSetup(
        seed=seed,
        profile=_rules(seed, rng.choice(PROFILES), with_gpus),
        conflicts=_conflicts(seed, rng),
        commit=CommitMode.INCREMENTAL if rng.random() < 0.7 else CommitMode.ALL_OR_NOTHING,
        shards=rng.randint(1, 4),
        batch=rng.choice((1, 3, 64, 1024)),
        tier="numpy" if rng.random() < 0.05 else "auto",
        partition=rng.random() < 0.7,
        compare_every=rng.choice((10.0, 20.0, 45.0)),
        durable=rng.random() < SQLITE_SHARE,
        fleet=tuple(draw_shape(rng, zones, with_gpus) for _ in range(rng.randint(2, 9))),
        requests=_with_extras(
            seed, [_draw_request(rng, with_gpus) for _ in range(rng.randint(3, 8))]
        ),
        head_start=rng.randint(3, 25),
        pace=rng.choice((0.1, 0.4, 1.0)),
        ticks=rng.choice(((0.0, 0.01, 0.1), (0.0, 0.1, 1.0), (0.1, 1.0, 4.0), (0.01, 15.0))),
        weights={
            **_swarm(rng, dict.fromkeys(CHANGES, 4.0), 0.75),
            **QueueDraw(seed).weights(),
            **PreemptionDraw(seed).weights(),
        },
        odds=_swarm(rng, SHARED_ODDS, 0.5) | _swarm(Rng(seed).child("hosts odds"), HOST_ODDS, 0.5),
    )
    return drawn if drawn.profile == EXACT else _with_overcommit(_with_pools(drawn))


def _rules(seed: int, profile: str, with_gpus: bool) -> str:
    """The profile, or an exact kube-scheduler profile.

    Exact profiles count GPUs as plain resources and have no reservations. A separate stream leaves
    all other draws of the seed unchanged.
    """
    if with_gpus or PreemptionDraw(seed).moving.reservation_share:
        return profile
    return EXACT if Rng(seed).child("rules").random() < EXACT_SHARE else profile


def draw_shape(rng: Rng, zones: Sequence[str], with_gpus: bool) -> NodeShapeDraw:
    """Draw a node."""
    gpus = rng.choice((0, 2, 4)) if with_gpus else 0
    return NodeShapeDraw(
        cpu=rng.choice((1000, 2000, 4000)),
        memory=rng.choice((1024, 4096)),
        pods=rng.choice((2, 5, 16)),
        widgets=rng.choice((0, 0, 3)),
        gpus=gpus,
        model=rng.choice(MODELS) if gpus else "",
        zone=rng.choice(zones),
        pool=rng.choice(("blue", "blue", "green")),
        tainted=rng.random() < 0.1,
        cordoned=rng.random() < 0.1,
    )


def _draw_request(rng: Rng, with_gpus: bool) -> PodRequest:
    """Draw a request; sometimes one that never fits."""
    gpus = rng.choice((0, 1, 1, 2)) if with_gpus and rng.random() < 0.5 else 0
    return PodRequest(
        cpu=64_000 if rng.random() < 0.06 else rng.choice((100, 250, 500, 900)),
        memory=rng.choice((64, 256, 700)),
        widgets=1 if rng.random() < 0.1 else 0,
        gpus=gpus,
        milli=rng.choice((1000, 500, 300)) if gpus == 1 else 1000,
        model=rng.choice(MODELS) if gpus and rng.random() < 0.3 else "",
        ports=(rng.choice((8080, 9090)),) if rng.random() < 0.2 else (),
        pool="green" if rng.random() < 0.15 else "",
        tolerates=rng.random() < 0.15,
    )


def _with_extras(seed: int, requests: list[PodRequest]) -> tuple[PodRequest, ...]:
    """Add affinity groups and sub-clusters to requests."""
    return SubClusterDraw(seed).add_extras(_with_affinity(seed, requests))


def _with_affinity(seed: int, requests: list[PodRequest]) -> tuple[PodRequest, ...]:
    """Give some requests an affinity rule, in some seeds all of them.

    The rescheduler does not move such pods, so seeds with moves have fewer of them.
    """
    rng = Rng(seed).child("kin")
    odds = rng.choice((0.0, 0.3, 0.6, 1.0))
    if PreemptionDraw(seed).moving.rules is not None:
        odds = rng.choice((0.0, 0.0, 0.1, odds))
    rules = [rule for rule in GroupAffinity if rule is not GroupAffinity.FREE]
    return tuple(
        msgspec.structs.replace(request, group=f"group-{number}", rule=rng.choice(rules))
        if rng.random() < odds
        else request
        for number, request in enumerate(requests)
    )


def _with_pools(drawn: ChaosSetup) -> ChaosSetup:
    """Add best-effort pools in some seeds; exact profiles do not support them."""
    rng = Rng(drawn.seed).child("pools")
    if rng.random() >= POOLS_SHARE:
        return drawn
    replace = msgspec.structs.replace
    return replace(
        drawn,
        fleet=tuple(replace(shape, reclaimed=rng.choice((0, 500, 1500))) for shape in drawn.fleet),
        requests=tuple(
            replace(request, best_effort=rng.random() < 0.5) for request in drawn.requests
        ),
    )


def _with_overcommit(drawn: ChaosSetup) -> ChaosSetup:
    """Add node pools that promise more than their capacity; exact profiles do not support them."""
    overcommit = OvercommitDraw(drawn.seed)
    if not overcommit.exists:
        return drawn
    return msgspec.structs.replace(
        drawn,
        fleet=overcommit.fleet(drawn.fleet),
        requests=overcommit.add_extras(drawn.requests),
        weights={**drawn.weights, **overcommit.weights()},
    )


def _swarm(rng: Rng, highest: Mapping[str, float], share: float) -> dict[str, float]:
    """Draw odds for some kinds over two orders of magnitude; others get zero."""
    drawn = {}
    for kind, most in highest.items():
        chosen, power = rng.random() < share, rng.random()
        drawn[kind] = most * 10.0 ** (-2.0 * power) if chosen else 0.0
    return drawn


@cache
def _profile(name: str) -> Profile:
    return load_profile(name)
