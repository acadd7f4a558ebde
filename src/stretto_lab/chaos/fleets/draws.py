"""Draws of a seed: the fleet, its settings, and the frequency of each event."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from stretto.base.rng import Rng
from stretto.federation.settings import FailoverRule


class FleetEvent(Enum):
    """Events outside the controllers."""

    #: The replicas of a Deployment change.
    RESCALE = "rescale"
    #: Its template changes.
    UPDATE = "update"
    #: The weights of its policy change.
    MIGRATE = "migrate"
    #: A member is partitioned from the host: it continues to run but does not answer.
    SILENCE = "member partitioned"
    #: A member answers 429.
    BUSY = "member busy"
    #: A member performs requests but answers after their time limit.
    SLOW = "member slow"
    #: The watches of a member stall.
    STALL = "watches stall"
    #: The control plane of a member stops; its pods continue to run.
    CRASH_MEMBER = "member down"
    #: A member answers again.
    RETURN = "member returns"
    #: The nodes of a member accept no further pods.
    FILL = "member full"
    #: The nodes of a member accept pods again.
    FREE = "member free"
    #: A member is lost permanently; a user deletes its FederatedCluster.
    LOSE = "member lost"
    #: The API server of the host stops.
    CRASH_HOST = "host down"
    #: The API server of the host starts again.
    START_HOST = "host up"
    #: The controllers of the host are killed at one of their next writes, before or after it.
    CRASH = "controllers killed at a write"
    #: The controllers of the host are killed between two reconciliations, and restarted.
    RESTART = "controllers restart"
    #: The controllers of the host are killed; they start with the next such event.
    STOP = "controllers stop"
    #: A pod is deleted in a member.
    KILL_POD = "pod deleted"
    #: A user scales a managed Deployment in a member to 0.
    DRIFT = "drift"


class FleetMove(Enum):
    """Kinds of progress in a step."""

    #: The controllers of the host reconcile a few keys.
    HOST = "host reconciles"
    #: The due work of one member runs.
    MEMBER = "member runs"
    #: Time passes without any work.
    DELAY = "everything is delayed"
    #: All due work runs, and time passes.
    RUN = "fleet runs"


MOVES: Final = (FleetMove.HOST, FleetMove.HOST, FleetMove.MEMBER, FleetMove.DELAY, FleetMove.RUN)
"""Moves with their relative frequencies."""
_OF_USERS: Final = (FleetEvent.RESCALE, FleetEvent.UPDATE, FleetEvent.MIGRATE)
"""Changes by users."""
_FAULTS: Final[Mapping[FleetEvent, FleetEvent]] = {
    FleetEvent.SILENCE: FleetEvent.RETURN,
    FleetEvent.BUSY: FleetEvent.RETURN,
    FleetEvent.SLOW: FleetEvent.RETURN,
    FleetEvent.STALL: FleetEvent.RETURN,
    FleetEvent.CRASH_MEMBER: FleetEvent.RETURN,
    FleetEvent.FILL: FleetEvent.FREE,
    FleetEvent.CRASH_HOST: FleetEvent.START_HOST,
    FleetEvent.CRASH: FleetEvent.RESTART,
    FleetEvent.STOP: FleetEvent.STOP,
}
"""Faults, each with the event that ends it."""
_NARROW: Final = 0.25
"""Share of the seeds in which one kind of fault and one kind of change occur repeatedly."""
_RULE: Final = FailoverRule(after=15.0, back_after=10.0, most_lost=0.5)


@dataclass(frozen=True, slots=True)
class FleetDraw:
    """The draws of one seed that apply to its whole run."""

    #: Names of the clusters.
    clusters: tuple[str, ...]
    #: Failover of lost members; ``None`` for none.
    failover: FailoverRule | None
    #: Number of Deployments.
    workloads: int
    #: True if pods that stay unschedulable move to another cluster.
    migrates: bool
    #: The possible events; repeated entries are more frequent.
    events: tuple[FleetEvent, ...]
    #: Probability of an event in a step.
    rate: float
    #: True if members are written by server-side apply, otherwise by whole objects.
    applies: bool
    #: Number of processes among which the objects are divided at the beginning.
    shards: int = 1


def drawn(rng: Rng) -> FleetDraw:
    """The draws of a seed; each kind of event is absent in about half of all seeds."""
    events = [each for each in FleetEvent for _ in range(rng.choice((0, 0, 1, 3)))]
    made = FleetDraw(
        clusters=tuple(f"m{at}" for at in range(rng.randint(2, 4))),
        failover=_RULE if rng.random() < 0.5 else None,
        workloads=rng.randint(1, 2),
        migrates=rng.random() < 0.5,
        events=tuple(events) or (FleetEvent.RESCALE,),
        rate=rng.choice((0.05, 0.2, 0.5)),
        applies=rng.child("applies").random() < 0.5,
        shards=rng.child("shards").choice((1, 1, 2, 3)),
    )
    narrow = rng.child("narrow")
    return _narrowed(made, narrow) if narrow.random() < _NARROW else made


def _narrowed(made: FleetDraw, rng: Rng) -> FleetDraw:
    """A draw with one kind of fault and one kind of change, both frequent.

    A rare order of two kinds of events, such as a lost answer while a workload leaves a cluster and
    returns, requires many events of both kinds and few others.
    """
    change, fault = rng.choice(_OF_USERS), rng.choice(tuple(_FAULTS))
    events = (change, change, change, fault, fault, _FAULTS[fault])
    return replace(made, events=events, rate=0.8, workloads=1)
