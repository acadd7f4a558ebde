"""Laws 4 and 8 in the simulator: permitted victims, and the pods that they are evicted for.

The reference reads priorities, annotations and sizes of pods from the world that created them. It
checks every preemption that the binder grants, and every eviction that the plane starts.
"""

from collections.abc import Collection, Iterable, Iterator

import numpy as np

from stretto.plane.config import Step
from stretto.plane.plane import Plane
from stretto.state.queries.invariants import InvariantBreach
from stretto.state.rows.lifecycle import PodState
from stretto.state.victims.rules import UNPROTECTED, PreemptionRules
from stretto.state.work.claims import UnitPreemption
from stretto_lab.chaos.draws.pods import PodRequest, PodRole, admits, overruns
from stretto_lab.chaos.laws.evictors import EvictorLaw
from stretto_lab.chaos.laws.started import EvictionWatch
from stretto_lab.chaos.laws.turns import TurnsLaw
from stretto_lab.chaos.world import ChaosWorld


class PreemptionLaw:
    """Law 4, checked on every preemption that is granted."""

    def __init__(self, world: ChaosWorld) -> None:
        """Start without any check."""
        #: Number of preemptions that were checked.
        self.looks = 0
        self._world = world
        self._watch = EvictionWatch()
        self._evictors = EvictorLaw(world)
        self._turns = TurnsLaw(world)

    def checked(self) -> dict[str, int]:
        """Number of checks by law."""
        turns = {"8 no pair is decided twice": self._turns.looks}
        return {"4 preemptions are permitted": self.looks, **self._evictors.checked, **turns}

    def follow_plane(self) -> None:
        """Reset for a new plane."""
        self._watch.follow_plane()
        self._evictors.follow_plane()
        self._turns.reset()

    def after_step(self, plane: Plane, claimed: Collection[str]) -> Iterator[InvariantBreach]:
        """Breaches of law 8; ``claimed`` contains the uids of new claims."""
        started = self._watch.started(plane)
        yield from self._evictors.breaches(plane, started, claimed)
        yield from self._turns.breaches(plane, started, claimed)

    def look_at(self, plane: Plane, step: Step) -> list[InvariantBreach]:
        """Return the breaches in the preemptions of one step."""
        found: list[InvariantBreach] = []
        self._evictors.count_grants(
            sum(len(each.granted) + len(each.nominated) for each in step.verdicts)
        )
        for i, (plan, verdict) in enumerate(zip(step.plans, step.verdicts, strict=True)):
            # Under kube-scheduler's rules a later pod of higher priority may take nominated
            # capacity.
            after = step.verdicts[i + 1 :]
            later = {
                row for each in after for row in (*each.granted.tolist(), *each.nominated.tolist())
            }
            nominated = set(verdict.nominated.tolist())
            for each in plan.preemptions:
                claims = plan.units[each.claims]
                rows = plan.rows[claims.start : claims.stop].tolist()
                if nominated.issuperset(rows):
                    self.looks += 1
                    found += self._victims(plane, each, rows)
                    exact = plane.config.profile.exact
                    found += self._fit(plane, rows, later if exact else set())
        return found

    def _victims(
        self, plane: Plane, each: UnitPreemption, rows: list[int]
    ) -> list[InvariantBreach]:
        """Check victims: lower priority, not protected, and within hard budgets."""
        rules = plane.config.profile.preemption
        lowest = min((self._role(plane, row).priority for row in rows), default=UNPROTECTED)
        found = []
        for row in each.victims:
            role = self._role(plane, row)
            why = _forbidden_reason(role, lowest, rules)
            if rules.hard_budgets and row in each.beyond:
                why = "beyond a hard budget"
            if why:
                found.append(
                    InvariantBreach(4, f"pod {plane.cluster.pods.name[row]} was evicted {why}")
                )
        return found

    def _fit(self, plane: Plane, rows: list[int], later: set[int]) -> list[InvariantBreach]:
        """Check that the preemptors fit on their nodes after all victims are deleted.

        ``later`` contains the rows of claims that were granted afterwards. Nodes of which the plane
        has an old version are skipped.
        """
        pods, nodes = plane.cluster.pods, plane.cluster.nodes
        evicting, members = plane.cluster.evictions.in_progress, self._world.members
        found = []
        for row in rows:
            slot = int(pods.slot[row])
            name = nodes.names[slot] if slot >= 0 else ""
            shape = self._world.nodes.get(name)
            if shape is None or nodes.versions[slot] != str(self._world.node_versions[name]):
                continue
            here = np.flatnonzero(pods.slot[: pods.length] == slot).tolist()
            here = [o for o in here if o not in later and not _is_weaker(plane, o, row)]
            stay = self._requests(plane, [other for other in here if other not in evicting])
            request = members[pods.uid[row]].request
            problem = overruns(shape, stay, request) or (
                "" if admits(shape, request) else "its rules"
            )
            if problem:
                text = f"pod {pods.name[row]} evicts pods from {name} and does not fit"
                found.append(InvariantBreach(4, f"{text}: {problem}"))
        return found

    def _requests(self, plane: Plane, rows: Iterable[int]) -> list[PodRequest]:
        members, uids = self._world.members, plane.cluster.pods.uid
        return [members[uids[row]].request for row in rows if uids[row] in members]

    def _role(self, plane: Plane, row: int) -> PodRole:
        return self._world.members[plane.cluster.pods.uid[row]].role


def _is_weaker(plane: Plane, other: int, row: int) -> bool:
    """True if kube-scheduler's rules ignore a nominated pod for one of higher priority."""
    pods = plane.cluster.pods
    nominated = int(pods.state[other]) == PodState.NOMINATED
    lower = int(pods.priority[other]) < int(pods.priority[row])
    return plane.config.profile.exact and nominated and lower


def _forbidden_reason(role: PodRole, lowest: int, rules: PreemptionRules) -> str:
    """Reason why a preemptor of that priority may not evict a pod; empty if it may."""
    if role.priority >= lowest:
        return f"by a pod of priority {lowest} although it has priority {role.priority}"
    if role.priority >= rules.protected_from:
        return "although its priority is protected"
    if role.agrees == "false":
        return "although its annotation forbids it"
    if rules.opt_in and role.agrees != "true":
        return "without its opt-in annotation"
    return ""
