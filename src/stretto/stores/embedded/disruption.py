"""Disruption budgets: the number of pods of a set that may be disrupted at once.

An API server leaves the counting to a controller and reads the budget's status. Here the live pods
are counted at the first eviction. Later the counts follow the history of pods, so that later
evictions cost only what has changed. Rules and messages are those of Kubernetes' ``policy/v1``.
"""

import re
from collections import Counter
from collections.abc import Callable
from math import ceil
from typing import Final

import msgspec

from stretto.api.types.core import PodDisruptionBudgetSpec
from stretto.api.types.heads import ENDED
from stretto.api.wire.refusals import refusal
from stretto.api.wire.selectors import Selector, label_selector
from stretto.base.errors import InputError, StrettoError, UnknownNameError
from stretto.stores.embedded.table import ObjectTable
from stretto.stores.facts import OwnerFacts, PodRecordFacts, decode_pod_facts
from stretto.stores.store import EventType, Record, Reply, StatusReason, WatchEvent, WriteOutcome

_PERCENT: Final = re.compile(r"[0-9]{1,3}%")
_POLICIES: Final = (None, "IfHealthyBudget", "AlwaysAllow")
_UNPROTECTED: Final = (*ENDED, "Pending")
"""Phases in which Kubernetes evicts a pod without a check of budgets."""

Scale = Callable[[str, OwnerFacts], int | None]
"""Returns the desired pods of an owner in a namespace; ``None`` if the store lacks the owner."""


class _BudgetBody(msgspec.Struct, frozen=True, gc=False):
    """The used fields of a PodDisruptionBudget."""

    #: The spec; without it, as Kubernetes allows, the budget covers no pod.
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()


class CompiledBudget(msgspec.Struct, frozen=True, gc=False):
    """A validated and compiled budget."""

    #: The spec as stored.
    spec: PodDisruptionBudgetSpec
    #: Selects the covered pods of the namespace.
    selector: Selector

    def desired(self, expected: int) -> int:
        """Number of the expected pods that must stay healthy; the default is all."""
        if self.spec.max_unavailable is not None:
            return max(0, expected - _share(self.spec.max_unavailable, expected))
        if self.spec.min_available is not None:
            return _share(self.spec.min_available, expected)
        return expected


_DECODER: Final = msgspec.json.Decoder(_BudgetBody)


def decode_budget(body: bytes) -> CompiledBudget:
    """Decode a budget from JSON, validated as in an API server.

    Raises:
        InputError: a field is invalid; the error contains its path.
    """
    try:
        spec = _DECODER.decode(body).spec
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise refusal(error, body, "poddisruptionbudget") from error
    if spec.min_available is not None and spec.max_unavailable is not None:
        raise InputError(
            "poddisruptionbudget.spec", None, "minAvailable or maxUnavailable, not both"
        )
    policy = spec.unhealthy_pod_eviction_policy
    if policy not in _POLICIES:
        where = "poddisruptionbudget.spec.unhealthyPodEvictionPolicy"
        raise InputError(where, policy, "IfHealthyBudget or AlwaysAllow")
    _check_amount("minAvailable", spec.min_available)
    _check_amount("maxUnavailable", spec.max_unavailable)
    try:
        selector = label_selector(spec.selector, "poddisruptionbudget.spec.selector")
    except UnknownNameError as error:
        where = "poddisruptionbudget.spec.selector"
        raise InputError(where, error.name, f"a label selector: {error}") from error
    return CompiledBudget(spec, selector)


def _check_amount(field: str, amount: int | str | None) -> None:
    """Reject a value that is neither a count nor a percentage up to 100."""
    if amount is None or (isinstance(amount, int) and amount >= 0):
        return
    if isinstance(amount, str) and _PERCENT.fullmatch(amount) and int(amount[:-1]) <= 100:
        return
    raise InputError(
        f"poddisruptionbudget.spec.{field}",
        amount,
        "a count such as 2, or a percentage such as 50%",
    )


def _share(amount: int | str, whole: int) -> int:
    """Resolve a count, or a percentage of the whole, rounded up as in Kubernetes."""
    return amount if isinstance(amount, int) else ceil(int(amount[:-1]) * whole / 100)


class _CoveredPod(msgspec.Struct, frozen=True, gc=False):
    """A covered pod."""

    #: True if it is healthy.
    healthy: bool
    #: Its managing owner, if there is one.
    owner: OwnerFacts | None


class _BudgetTally:
    """The covered pods of one budget at a position in the history of pods."""

    def __init__(self, record: Record) -> None:
        #: The budget's record when it was compiled.
        self.record = record
        #: The compiled budget.
        self.budget = decode_budget(record.body)
        #: Number of healthy covered pods.
        self.healthy = 0
        #: Number of covered pods by owner.
        self.owners: Counter[OwnerFacts | None] = Counter()
        #: Evicted pods without a known owner that no new pod has replaced. They stay expected;
        #: otherwise maxUnavailable 1 would allow to evict all pods, one by one.
        self.owed = 0
        #: Position in the history of pods; before its start if all pods must be counted.
        self.position = -1
        self._pods: dict[str, _CoveredPod] = {}

    def catch_up(self, pods: ObjectTable) -> None:
        """Update the counts to the current pods."""
        history = pods.history
        start = self.position - history.dropped
        if start < 0:
            self._pods.clear()
            self.owners.clear()
            self.healthy = self.owed = 0
            known: dict[int, PodRecordFacts | None] = {}
            for record in pods.spaces.get(self.record.namespace, {}).values():
                key = id(record.body)  # running pods of one template may share their body
                if key not in known:
                    known[key] = _facts(record)
                self._count(record, known[key])
        else:
            for event in history.events[start:]:
                if event.record.namespace == self.record.namespace:
                    self._see(event)
        self.position = history.end

    def covers(self, facts: PodRecordFacts) -> bool:
        """Return whether the budget selects a pod."""
        return self.budget.selector.matches(facts.metadata.labels or {})

    def put(self, uid: str, pod: _CoveredPod | None) -> _CoveredPod | None:
        """Count the current state of a pod, or remove it if ``None``; return the previous state."""
        old = self._pods.pop(uid, None)
        if old is not None:
            self.healthy -= old.healthy
            self.owners[old.owner] -= 1
            if not self.owners[old.owner]:
                del self.owners[old.owner]
        if pod is not None:
            self._pods[uid] = pod
            self.healthy += pod.healthy
            self.owners[pod.owner] += 1
        return old

    def _see(self, event: WatchEvent) -> None:
        record = event.record
        if event.type is EventType.DELETED:
            self.put(record.uid, None)
            return
        self._count(record, _facts(record))
        if event.type is EventType.ADDED and record.uid in self._pods:
            self.owed = max(0, self.owed - 1)

    def _count(self, record: Record, facts: PodRecordFacts | None) -> None:
        """Count the current state of a pod; ignore a pod that is not covered or has ended."""
        if facts is None or facts.phase in ENDED or not self.covers(facts):
            self.put(record.uid, None)
            return
        owners = facts.metadata.owner_references or ()
        owner = next((each for each in owners if each.controller), None)
        self.put(record.uid, _CoveredPod(_is_healthy(record, facts), owner))


class DisruptionBudgets:
    """Checks evictions against live pods and the budgets of their namespace."""

    def __init__(self, pods: ObjectTable, budgets: ObjectTable, scale: Scale) -> None:
        """Create the checker; ``scale`` returns the desired pods of an owner."""
        self._pods = pods
        self._budgets = budgets
        self._scale = scale
        self._tallies: dict[str, _BudgetTally] = {}

    def refusal(self, pod: Record) -> Reply | None:
        """Return the reason why the pod may not be evicted now, or ``None``."""
        facts = _facts(pod)
        if facts is None or _is_unprotected(pod, facts):
            return None
        try:
            tallies = [each for each in self._of(pod.namespace) if each.covers(facts)]
        except StrettoError as error:
            return Reply(WriteOutcome.REFUSED, StatusReason.INTERNAL, str(error))
        if len(tallies) > 1:
            names = ", ".join(tally.record.name for tally in tallies)
            text = f"pod {pod.namespace}/{pod.name} has more than one disruption budget ({names}), "
            hint = "which an eviction does not support: keep only one"
            return Reply(WriteOutcome.REFUSED, StatusReason.INTERNAL, text + hint)
        return self._overdrawn(tallies[0], pod, facts) if tallies else None

    def spend(self, pod: Record) -> None:
        """Count the pod as disrupted in later evictions, because it is being evicted."""
        for budget in self._budgets.spaces.get(pod.namespace, {}).values():
            tally = self._tallies.get(budget.uid)
            counted = None if tally is None else tally.put(pod.uid, None)
            if (
                tally is not None
                and counted is not None
                and self._wanted(pod.namespace, counted.owner) is None
            ):
                tally.owed += 1

    def allowances(self) -> dict[str, int]:
        """Number of disruptions that each budget allows now, by uid; 0 for an invalid budget."""
        found: dict[str, int] = {}
        for namespace in self._budgets.spaces:
            try:
                tallies = self._of(namespace)
            except StrettoError:
                continue
            for tally in tallies:
                expected = self._expected(tally)
                spare = tally.healthy - tally.budget.desired(expected)
                found[tally.record.uid] = max(0, spare) if expected else 0
        return found

    def forget(self) -> None:
        """Discard all counts, because a counted eviction was not committed."""
        self._tallies.clear()

    def _of(self, namespace: str) -> list[_BudgetTally]:
        """Current tallies of a namespace's budgets; tallies of deleted budgets are dropped."""
        tallies, new = [], False
        records = self._budgets.spaces.get(namespace, {}).values()
        for record in records:
            tally = self._tallies.get(record.uid)
            if tally is None or tally.record.version != record.version:
                tally, new = _BudgetTally(record), True
                self._tallies[record.uid] = tally
            tally.catch_up(self._pods)
            tallies.append(tally)
        if new and len(self._tallies) > 2 * self._count_budgets() + 16:
            self._tallies = {tally.record.uid: tally for tally in tallies}
        return tallies

    def _count_budgets(self) -> int:
        return sum(len(space) for space in self._budgets.spaces.values())

    def _overdrawn(self, tally: _BudgetTally, pod: Record, facts: PodRecordFacts) -> Reply | None:
        """The 429 reply if the budget is exhausted."""
        healthy, expected = tally.healthy, self._expected(tally)
        desired = tally.budget.desired(expected)
        if facts.ready is False:
            always = tally.budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow"
            if always or healthy >= desired > 0:
                return None
        if expected > 0 and healthy > desired:
            return None
        return Reply(
            WriteOutcome.REFUSED,
            StatusReason.TOO_MANY_REQUESTS,
            f"evicting pod {pod.namespace}/{pod.name} would violate its disruption budget "
            f"{tally.record.name}: {healthy} of {expected} pods are healthy and {desired} must be; "
            "try again when more are healthy",
        )

    def _expected(self, tally: _BudgetTally) -> int:
        """Desired pods of known owners, plus live and still expected pods of other owners."""
        expected = tally.owed
        for owner, count in tally.owners.items():
            wanted = self._wanted(tally.record.namespace, owner)
            expected += count if wanted is None else wanted
        return expected

    def _wanted(self, namespace: str, owner: OwnerFacts | None) -> int | None:
        """Desired pods of an owner; ``None`` if there is no owner or the owner is unknown."""
        return None if owner is None else self._scale(namespace, owner)


def _facts(record: Record) -> PodRecordFacts | None:
    """A pod's facts; ``None`` if the pod is unreadable, because it must not block other pods."""
    try:
        return decode_pod_facts(record.body)
    except InputError:
        return None


def _is_healthy(record: Record, facts: PodRecordFacts) -> bool:
    """Return whether a pod is healthy: bound, not terminating, and not reported as unready."""
    return bool(record.node) and not record.deleting and facts.ready is not False


def _is_unprotected(record: Record, facts: PodRecordFacts) -> bool:
    return not record.node or bool(record.deleting) or facts.phase in _UNPROTECTED
