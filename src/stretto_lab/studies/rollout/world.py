"""One simulated rollout: members, a planner, random events, and the laws.

At every tick controllers observe and act, pods become available, and the planner plans. Each part
happens with a chance and uses a status that may be old. Events are changes of the replicas,
migrations, failing pods, members that are lost and come back, and rollbacks. The laws: the pods of
all members that answer are at most replicas + max surge, and the available pods are at least
replicas − max unavailable. If an event from outside changes the number of pods, it moves the bound
by the same number until the pods are within the limits again.
"""

from dataclasses import dataclass, replace
from enum import Enum

from stretto.base.rng import Rng
from stretto.federation.planner.division.demand import DivisionCluster, DivisionDemand
from stretto.federation.planner.division.plan import divide
from stretto.federation.planner.rollout.member import Envelope, MemberSpec, RolloutMember
from stretto.federation.planner.rollout.plan import plan
from stretto.federation.planner.rollout.policy import (
    RolloutDemand,
    RolloutPolicy,
    RolloutProgress,
    RolloutStage,
    RolloutVerdict,
)
from stretto_lab.studies.rollout.deployment import DeploymentModel

NEW, OLD = "new", "old"
"""The revisions."""
LONGEST = 20_000
"""Ticks after which a rollout counts as unfinished."""


class RolloutEvent(Enum):
    """Events from outside."""

    #: The replicas change.
    RESCALE = "rescale"
    #: The weights of the clusters change.
    MIGRATE = "migrate"
    #: An available pod fails.
    FAIL = "fail"
    #: A member no longer answers.
    LOSE = "lose"
    #: A lost member answers again.
    RETURN = "return"
    #: The new revision fails, and the rollout returns to the old one.
    ROLL_BACK = "roll back"


@dataclass(frozen=True, slots=True)
class RolloutOutcome:
    """The result of a simulated rollout."""

    #: Ticks until the rollout was done.
    ticks: int
    #: True if the rollout was done.
    finished: bool
    #: Pods above the upper bound at the worst moment.
    above: int
    #: Missing available pods below the lower bound at the worst moment.
    below: int
    #: Events that happened.
    events: int


class RolloutWorld:
    """A workload in several members."""

    def __init__(self, rng: Rng, *, events: int) -> None:
        self._rng = rng
        self._events = rng.randint(0, events)
        names = [f"m{at}" for at in range(rng.randint(1, 4))]
        self._replicas = rng.randint(1, 16)
        self._weights = {name: rng.randint(1, 4) for name in names}
        surge = rng.choice([0, 1, 2, rng.randint(0, 6)])
        down = rng.choice([0, 1, 2, rng.randint(0, 6)])
        self._policy = RolloutPolicy(
            surge, down if surge else max(1, down), self._stages(names), rollback=True
        )
        self._progress = RolloutProgress()
        start = self._division({})
        self._models = {
            name: DeploymentModel(MemberSpec(count, OLD)) for name, count in start.items()
        }
        self._desired = start
        self._seen = {name: self._look(name) for name in names}
        self._most = self._replicas + surge
        self._least = self._replicas - self._policy.max_unavailable
        self._chance = rng.choice([0.2, 0.5, 1.0])

    def _stages(self, names: list[str]) -> tuple[RolloutStage, ...]:
        """Return no stages, or one stage for each member in a random order."""
        if self._rng.random() < 0.7:
            return ()
        self._rng.shuffle(names)
        return tuple(RolloutStage((name,)) for name in names)

    def run(self) -> RolloutOutcome:
        """Run ticks until the rollout is done and no event remains."""
        above = below = happened = 0
        for tick in range(LONGEST):
            if self._events and self._rng.random() < 0.1:
                happened += self._happen(self._rng.choice(list(RolloutEvent)))
                self._events -= 1
            for name in self._models:
                self._act(name)
                excess, lack = self._broken()
                above, below = max(above, excess), max(below, lack)
            if self._rng.random() < 0.5 and self._plan() and not self._events:
                return RolloutOutcome(tick, True, above, below, happened)
        return RolloutOutcome(LONGEST, False, above, below, happened)

    def _act(self, name: str) -> None:
        """One tick of a member; each part happens with a chance."""
        model = self._models[name]
        if not model.reachable:
            return
        if self._rng.random() < 0.8:
            model.observe()
        if self._rng.random() < 0.8:
            model.reconcile()
        model.start(self._rng, self._chance)
        if self._rng.random() < 0.8:
            self._seen[name] = self._look(name)

    def _look(self, name: str) -> RolloutMember:
        """Return the current status of a member."""
        model = self._models[name]
        desired = self._desired.get(name, 0)
        return RolloutMember(name, desired, model.spec, model.acting, model.pods(), model.reachable)

    def _view(self, name: str) -> RolloutMember:
        """Return the last status that was read, with the planner's own record."""
        model = self._models[name]
        return replace(
            self._seen[name],
            desired=self._desired.get(name, 0),
            spec=model.spec,
            reachable=model.reachable,
        )

    def _plan(self) -> bool:
        """Plan and write the result; return true if the rollout is done."""
        members = tuple(self._view(name) for name in self._models)
        demand = RolloutDemand(self._replicas, NEW, OLD, members, self._policy, self._progress)
        found = plan(demand)
        for name, spec in found.specs.items():
            self._models[name].write(spec)
        done = found.verdict in (RolloutVerdict.DONE, RolloutVerdict.ROLLED_BACK)
        return done and all(
            self._seen[name].pods == model.pods()
            for name, model in self._models.items()
            if model.reachable
        )

    def _happen(self, event: RolloutEvent) -> bool:
        """Apply an event; return true if it was possible."""
        name = self._rng.choice(list(self._models))
        model = self._models[name]
        if event is RolloutEvent.RESCALE:
            self._replicas = max(1, self._replicas + self._rng.randint(-8, 8))
        elif event is RolloutEvent.MIGRATE:
            self._weights[name] = self._rng.randint(0, 4)
        elif event is RolloutEvent.FAIL:
            if not (model.reachable and model.fail()):
                return False
            self._least -= 1
        elif event is RolloutEvent.LOSE:
            others = sum(each.reachable for each in self._models.values())
            if not model.reachable or others == 1:
                return False
            self._least -= model.available()
            model.lose()
        elif event is RolloutEvent.ROLL_BACK:
            self._progress = RolloutProgress(failed=True)
        else:
            if model.reachable:
                return False
            model.come_back()
            self._most += max(model.total(), model.spec.replicas + model.spec.max_surge)
        self._desired = self._division(self._desired)
        self._move_bounds(event)
        return True

    def _move_bounds(self, event: RolloutEvent) -> None:
        """Widen the bounds to the limits of new replicas; the bounds never become stricter here."""
        if event is RolloutEvent.RESCALE:
            self._most = max(self._most, self._replicas + self._policy.max_surge)
            limit = self._replicas - self._policy.max_unavailable
            self._least = min(self._least, limit)

    def _division(self, current: dict[str, int]) -> dict[str, int]:
        """Return replicas by member that answers; at least one member has a weight."""
        models = getattr(self, "_models", {})
        names = [name for name in self._weights if name not in models or models[name].reachable]
        weigh = any(self._weights[name] for name in names)
        clusters = tuple(
            DivisionCluster(name, self._weights[name] if weigh else 1) for name in names
        )
        return divide(DivisionDemand(self._replicas, clusters, current, moves=None)).placed

    def _envelope(self, name: str) -> Envelope:
        """Return the actions of a member by its true state and by the observed state."""
        true, seen = self._look(name), self._view(name)
        one, other = true.envelope(true.spec), seen.envelope(seen.spec)
        return Envelope(max(one.most, other.most), min(one.least, other.least))

    def _broken(self) -> tuple[int, int]:
        """Return pods above and available pods below the bounds; then tighten the bounds."""
        reachable = [each for each in self._models.values() if each.reachable]
        total = sum(each.total() for each in reachable)
        available = sum(each.available() for each in reachable)
        found = max(0, total - self._most), max(0, self._least - available)
        limits = (
            self._replicas + self._policy.max_surge,
            self._replicas - self._policy.max_unavailable,
        )
        if (self._most, self._least) != limits:
            bounds = [self._envelope(name) for name in self._models]
            self._most = max(limits[0], min(self._most, sum(each.most for each in bounds)))
            if not self._unseen():
                least = max(self._least, sum(each.least for each in bounds))
                self._least = min(limits[1], least)
        return found

    def _unseen(self) -> bool:
        """True if pods failed or stopped and the planner has not read the change yet."""
        return any(
            self._seen[name].available > model.available()
            for name, model in self._models.items()
            if model.reachable
        )
