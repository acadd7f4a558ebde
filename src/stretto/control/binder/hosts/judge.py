"""The judge of the mode ``hosts``: a refused claim goes to its next best host.

Source: HULK's resource pool (Meituan, 2018): one actor per host answers from its own state, first
come, first served. A task goes to its n best hosts in order. If all refuse, it is scheduled again
on a fresh view. Hosts need neither locks nor versions, because a host answers one message at a
time. Units that must fit together are not part of the publication: their claims are tentative.
"""

from collections import Counter
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from stretto.base.failpoints import Failpoint, no_failpoint
from stretto.control.binder.conflicts import Judgement, PlanJudge
from stretto.control.binder.hosts.mailboxes import HostMailboxes, HostRequest
from stretto.control.binder.hosts.tentative import TentativeClaims
from stretto.state.cluster.cluster import Cluster
from stretto.state.work.claims import ConflictCause, Plan, UnitClaims

NO_CAUSE: Final = ConflictCause.GANG_SHORT
"""Cause for a unit whose granted claims are too few."""


class HostPool(NamedTuple):
    """State that survives a crash of the binder."""

    #: Mailboxes.
    mail: HostMailboxes
    #: Claims of undecided units.
    tentative: TentativeClaims


def host_pool(cluster: Cluster, ttl_s: float) -> HostPool:
    """Create the hosts of a cluster; a host keeps an undecided claim for ``ttl_s`` seconds."""
    return HostPool(HostMailboxes(), TentativeClaims(cluster, ttl_s))


class HostJudge:
    """Judges plans by the answers of hosts, and charges granted claims."""

    def __init__(
        self,
        judge: PlanJudge,
        pool: HostPool,
        now: Callable[[], float],
        failpoint: Failpoint = no_failpoint,
    ) -> None:
        """Take over a pool: mail and tentative claims of a dead binder are dropped.

        Their plans are lost, and the dispatcher dispatches all of their pods again.

        Args:
            judge: checks and charges one claim.
            pool: mailboxes and tentative claims of the hosts.
            now: monotonic clock time in seconds.
            failpoint: failpoint of the fault simulator.
        """
        #: Number of granted claims by the number of hosts that had refused them.
        self.ranks: Counter[int] = Counter()
        #: Sum of the score differences between the best host and the host that granted the claim.
        self.behind = 0
        self._judge = judge
        self._pool = pool
        self._now = now
        self._failpoint = failpoint
        pool.mail.clear()
        pool.tentative.release_all()

    def judge(self, plan: Plan) -> Judgement:
        """Send every claim to its hosts; claims that no host grants are refused."""
        rows = plan.rows.tolist()
        if not rows:
            return Judgement(np.zeros(0, np.int64), [])
        self._pool.tentative.release(rows)
        if self._judge.grants_all(plan):
            self.ranks[0] += len(rows)
            return Judgement(np.arange(len(rows)), [])
        answers = _PlanAnswers(self._judge.with_needs(plan), self._judge, self._pool, self._now())
        answers.collect()
        self._failpoint("hosts.answered")
        judgement = answers.settle()
        for claim in judgement.granted.tolist():
            rank = answers.ranks[claim]
            self.ranks[rank] += 1
            self.behind += int(plan.alternatives[claim].behind[rank - 1]) if rank else 0
        return judgement

    def expire(self, now: float) -> None:
        """Release the tentative claims that have expired."""
        self._pool.tentative.expire(now)

    def next_due(self) -> float:
        """Clock time of the next ``expire`` with work, in seconds."""
        return self._pool.tentative.next_due()


class _PlanAnswers:
    """The answers of hosts to the claims of one plan."""

    def __init__(self, plan: Plan, judge: PlanJudge, pool: HostPool, now: float) -> None:
        self._plan = plan._replace(slots=plan.slots.copy(), generations=plan.generations.copy())
        self._judge = judge
        self._pool = pool
        self._now = now
        self._good: list[list[int]] = [[] for _ in plan.units]
        self._bad: list[dict[int, ConflictCause]] = [{} for _ in plan.units]
        #: Number of hosts that have refused each claim.
        self.ranks: dict[int, int] = {}

    def collect(self) -> None:
        """Send claims to host after host until each has an answer."""
        mail, plan = self._pool.mail, self._plan
        for number, unit in enumerate(plan.units):
            for claim in range(unit.start, unit.stop):
                mail.post(int(plan.slots[claim]), HostRequest(claim, number))
        while (turn := mail.take()) is not None:
            _, request = turn
            unit = plan.units[request.unit]
            cause = self._judge.grant(plan, request.claim, unit, self._good[request.unit])
            if cause is None:
                self._granted(request)
            elif not self._forward(request):
                self._bad[request.unit][request.claim] = cause

    def settle(self) -> Judgement:
        """Confirm or release the claims of each unit, in host order."""
        granted: list[int] = []
        refused: list[tuple[UnitClaims, tuple[int, ...], ConflictCause]] = []
        plan, tentative = self._plan, self._pool.tentative
        for unit, good, bad in zip(plan.units, self._good, self._bad, strict=True):
            tentative.decide(plan.rows[good].tolist())
            cause = next(reversed(bad.values()), NO_CAUSE)
            if self._judge.is_short(unit, len(good), len(bad)):
                self._judge.take_back(plan, sorted(good, key=lambda i: int(plan.slots[i])))
                lost, good = sorted([*bad, *good]), []
            else:
                lost = sorted(bad)
            granted += good
            if lost:
                refused.append((unit, tuple(plan.rows[lost].tolist()), cause))
                self._judge.touch(plan, lost)
        return Judgement(np.array(sorted(granted), np.int64), refused)

    def _granted(self, request: HostRequest) -> None:
        """Record a charged claim; it is tentative until its whole unit is decided."""
        self._good[request.unit].append(request.claim)
        self.ranks[request.claim] = request.rank
        row, slot = int(self._plan.rows[request.claim]), int(self._plan.slots[request.claim])
        self._pool.tentative.hold(row, slot, self._now)

    def _forward(self, request: HostRequest) -> bool:
        """Send a refused claim to its next host; ``False`` without one."""
        others = self._plan.alternatives.get(request.claim)
        if others is None or request.rank >= len(others.slots):
            return False
        slot = int(others.slots[request.rank])
        self._plan.slots[request.claim] = slot
        self._plan.generations[request.claim] = others.generations[request.rank]
        self._pool.mail.post(slot, request._replace(rank=request.rank + 1))
        return True
