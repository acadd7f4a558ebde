"""Checks the invariants of the dispatcher, for tests and the fault simulator.

Every unit is in exactly one place, every pending pod is in exactly one unit, and all counters match
a recount. The check walks all units and pods, so production code does not call it.
"""

from collections.abc import Iterable, Iterator

from stretto.base.amounts import add_amounts
from stretto.control.dispatcher.states.containers import UnitStates
from stretto.state.queues.shares import QueueShares
from stretto.state.queues.usage import QueueUsage
from stretto.state.rows.lifecycle import PodState, UnitState
from stretto.state.work.units import Unit, UnitKind

_WANTING = frozenset(
    {
        PodState.PENDING,
        PodState.DISPATCHED,
        PodState.BACKOFF,
        PodState.UNSCHEDULABLE,
    }
)
_HOLDING = frozenset({PodState.NOMINATED, PodState.ASSUMED, PodState.BOUND})


def audit(places: UnitStates, gated: Iterable[int] = ()) -> list[str]:
    """The violated invariants as sentences; empty if all hold.

    Valid between calls, after all changes of the cluster were absorbed.
    """
    return [*_rows(places, set(gated)), *_units(places), *_counts(places), *_usage(places)]


def _rows(places: UnitStates, gated: set[int]) -> Iterator[str]:
    pods, units = places.pods, places.units
    for row, unit in enumerate(units.by_row):
        state = PodState(int(pods.state[row])) if row < pods.length else PodState.GONE
        if unit is None:
            if state is PodState.GATED and row not in gated:
                yield f"row {row} is gated and not tracked"
            continue
        if row in gated:
            yield f"row {row} is gated and in unit {unit.key}"
        held, wanted = row in unit.bound, row in unit.pending
        if held == wanted:
            yield f"row {row} is {'twice' if held else 'not'} in its unit {unit.key}"
        if wanted and state not in _WANTING and state is not PodState.ABNORMAL:
            yield f"row {row} is pending in unit {unit.key} but is {state.name}"
        if (row in unit.away) and state is not PodState.DISPATCHED and state in _WANTING:
            yield f"row {row} is at shard {unit.shard} but is {state.name}"


def _units(places: UnitStates) -> Iterator[str]:
    shards = places.shards
    found: dict[Unit, list[UnitState]] = {}
    for queue in places.queues:
        for unit in queue.order:
            found.setdefault(unit, []).append(UnitState.QUEUED)
    for unit in places.unschedulable:
        found.setdefault(unit, []).append(UnitState.UNSCHEDULABLE)
    for unit in places.units:
        listed = found.pop(unit, [])
        expected = [unit.state] if unit.state in (UnitState.QUEUED, UnitState.UNSCHEDULABLE) else []
        if listed != expected:
            yield f"unit {unit.key} is {unit.state.name} but listed in {listed}"
        if not set(unit.away) <= set(unit.pending):
            yield f"unit {unit.key} is at a shard with pods it does not have"
        if bool(unit.away) != (unit.state is UnitState.DISPATCHED):
            yield f"unit {unit.key} is {unit.state.name} with {len(unit.away)} pods at a shard"
        if unit.away and not shards.is_alive(unit.shard):
            yield f"unit {unit.key} is at shard {unit.shard}, which is dead"
        if unit.state is UnitState.PLACED and unit.pending:
            yield f"unit {unit.key} is placed but {len(unit.pending)} of its pods are not"
        if unit.state is UnitState.FAILED and unit not in places.given_up:
            yield f"unit {unit.key} has failed without a recorded reason"
        if unit.state is UnitState.QUEUED and not unit.is_complete:
            yield f"unit {unit.key} is queued below its minimum"
    for unit, listed in found.items():
        yield f"unit {unit.key} is listed in {listed} without a pod"


def _usage(places: UnitStates) -> Iterator[str]:
    """Check that usage equals the requests of live claims and only units at shards are promised."""
    usage, pods = places.usage, places.pods
    if usage is None:
        return
    claims = QueueShares()
    for row, charge in usage.held().items():
        claims.charge(charge.queue, charge.amounts)
        if pods.serial[row] != charge.serial or PodState(int(pods.state[row])) not in _HOLDING:
            yield f"row {row} is charged to {charge.queue} and has no node"
        if charge.amounts != usage.pool.requests_of(int(pods.class_id[row])):
            yield f"row {row} is charged other amounts than its requests"
    for row, unit in enumerate(places.units.by_row):
        state = PodState(int(pods.state[row])) if row < pods.length else PodState.GONE
        if unit is not None and state in _HOLDING and row not in usage.held():
            yield f"row {row} has a node and is charged to no queue"
    for queue in {*claims.queues(), *usage.claims.queues()}:
        if claims.usage(queue) != usage.claims.usage(queue):
            yield f"queue {queue} is charged other amounts than its claims"
    yield from _tree(usage)
    promised = sum(usage.promises.pods(queue) for queue in usage.promises.queues())
    at_shards = sum(places.shards.units)
    if promised != at_shards:
        yield f"{promised} units have promises, {at_shards} are at shards"


def _tree(usage: QueueUsage) -> Iterator[str]:
    """Differences between the usage and running units of each tree node and a recount."""
    tree = usage.tree
    units: dict[str, set[str]] = {}
    for row in usage.held().values():
        units.setdefault(row.queue, set()).add(row.unit)
    for unit, queue in usage.sent().items():
        units.setdefault(queue, set()).add(unit.key)
    sums: dict[int, dict[int, int]] = {}
    running: dict[int, int] = {}
    for queue in {*usage.claims.queues(), *usage.promises.queues(), *usage.offered}:
        held = tree.held(queue)
        for column, amount in held.items():
            own = usage.claims.used(queue, column) + usage.promises.used(queue, column)
            own += dict(usage.offered.get(queue, ())).get(column, 0)
            if amount != own:
                yield f"queue {queue} holds {amount} in the tree, {own} by its claims"
        for branch in tree.leaf(queue).path:
            mine = sums.setdefault(branch.number, {})
            running[branch.number] = running.get(branch.number, 0) + len(units.get(queue, ()))
            add_amounts(mine, held.items())
    for branch in tree:
        counted = sums.get(branch.number, {})
        if any(branch.used.get(c, 0) != counted.get(c, 0) for c in {*branch.used, *counted}):
            yield f"queue {branch.name} holds {branch.used} in the tree, {counted} by counting"
        if branch.running != running.get(branch.number, 0):
            yield f"queue {branch.name} runs {branch.running} units in the tree, not by counting"


def _counts(places: UnitStates) -> Iterator[str]:
    counted = dict.fromkeys(UnitState, 0)
    pods = [0] * len(places.shards.pods)
    units = [0] * len(places.shards.units)
    for unit in places.units:
        counted[unit.state] += 1
        if unit.state is UnitState.DISPATCHED:
            pods[unit.shard] += len(unit.away)
            units[unit.shard] += 1
    expected = {
        "forming": (places.forming, counted[UnitState.FORMING]),
        "queued": (len(places.queues), counted[UnitState.QUEUED]),
        "in back-off": (places.delayed, counted[UnitState.BACKOFF]),
        "unschedulable": (len(places.unschedulable), counted[UnitState.UNSCHEDULABLE]),
        "failed": (len(places.given_up), counted[UnitState.FAILED]),
        "units at shards": (places.shards.units, units),
        "pods at shards": (places.shards.pods, pods),
    }
    for what, (stored, true) in expected.items():
        if stored != true:
            yield f"{what}: {stored} stored, {true} by counting"
    sequences = [unit.sequence for unit in places.units]
    if len(set(sequences)) != len(sequences):
        yield "two units have the same order of arrival"
    many = sum(unit.kind is not UnitKind.POD for unit in places.units)
    if many != len(places.units.by_identity) or many != len(places.units.identity):
        yield f"{many} units of several pods, {len(places.units.by_identity)} in the table"
    waiting = sum(len(queue.blockers) for queue in places.queues)
    if waiting > counted[UnitState.BACKOFF] + counted[UnitState.UNSCHEDULABLE]:
        yield f"{waiting} units block queues without waiting"
