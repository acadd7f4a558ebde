"""Trials of TideNodePools: the nodes that switch, their times, beneficiaries and victims.

The real controller, the real scheduler and the controllers of workloads act on a copy of a state,
in virtual time.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

import msgspec

from stretto.api.types.capacity.tides import TideNodePool
from stretto.api.wire.kinds import NODE, POD, TIDE_NODE_POOL
from stretto.base.errors import InputError
from stretto.capacity.tides.controller import TideController
from stretto.capacity.tides.pods import is_online
from stretto.capacity.tides.pool import NodeRole, TidePool
from stretto.capacity.tides.words import NodeSwitch
from stretto.inputs.objects.relations import InputObject
from stretto.plane.copy import SchedulingRules, StoreState
from stretto.plane.placements import PlacementTrial, scheduling_records
from stretto.reconcile.cache import StoredObject
from stretto.sim.fitting.controlled import ControlledCopy

SCHEMA: Final = "stretto.tides/v1"
"""Version of the results as JSON."""


class SwitchReport(msgspec.Struct, frozen=True):
    """One node that switches."""

    #: Virtual seconds since the trial began.
    seconds: float
    #: Name of the pool.
    pool: str
    #: Name of the node.
    node: str
    #: ``online`` or ``offline``.
    to: str
    #: Online pods that need the switch, as ``namespace/name``.
    beneficiaries: tuple[str, ...]
    #: Evicted offline pods, as ``namespace/name``.
    evicted: tuple[str, ...]


class TidePoolReport(msgspec.Struct, frozen=True):
    """The nodes of a pool after a trial, by role."""

    #: Name of the pool.
    pool: str
    #: Number of nodes by role: ``reserved online``, ``reserved offline``, ``online``, ``offline``.
    nodes: dict[str, int]


class TideReport(msgspec.Struct, frozen=True):
    """Effect of a trial on the pools of a state."""

    #: Title of the state.
    state: str
    #: Virtual seconds of the trial.
    seconds: float
    #: The switches, in order.
    switches: tuple[SwitchReport, ...]
    #: The pools.
    pools: tuple[TidePoolReport, ...]
    #: Online pods without a node after the trial, as ``namespace/name``.
    pending: tuple[str, ...]


def try_tides(
    state: StoreState, objects: Sequence[InputObject], seconds: float, rules: SchedulingRules
) -> TideReport:
    """Try the pools of a state and of a manifest.

    Args:
        state: the state; it is not changed.
        objects: pools, workloads and pods that are missing from the state or differ from it.
        seconds: virtual seconds for which the copy runs.
        rules: rules of the scheduler.

    Raises:
        InputError: there is no pool, or the store refuses an object.
    """
    copy = ControlledCopy(state, rules)
    copy.write(objects)
    pools = copy.cache.follow(TIDE_NODE_POOL)
    copy.run(1.0)
    if not len(pools):
        expected = "an object of kind TideNodePool in it or in a manifest"
        raise InputError(state.title, "no pool", expected)
    begin, found = copy.clock.now(), list[SwitchReport]()

    def note(switch: NodeSwitch) -> None:
        found.append(switch_report(switch, begin))

    records = partial(scheduling_records, copy.store)
    trial = PlacementTrial(copy.plane.config, records)
    controller = TideController(copy.cache, copy.clock, trial.placed, note)
    copy.add(controller, [each.record.name for each in pools])
    copy.run(seconds)
    nodes, pods = copy.cache.follow(NODE), copy.cache.follow(POD)
    reports = tuple(_pool_report(each, list(nodes)) for each in sorted(pools, key=_name))
    waiting = sorted("/".join(each.name) for each in pods if is_online(each) and _waits(each))
    return TideReport(state.title, seconds, tuple(found), reports, tuple(waiting))


def switch_report(switch: NodeSwitch, begin: float) -> SwitchReport:
    """One switch for reports; ``begin`` is the wall time of the start."""
    return SwitchReport(
        round(switch.at - begin, 3),
        switch.pool,
        switch.node,
        switch.role.value,
        tuple(map("/".join, switch.beneficiaries)),
        tuple(map("/".join, switch.victims)),
    )


def _pool_report(item: StoredObject, nodes: Sequence[StoredObject]) -> TidePoolReport:
    pool = TidePool(item.read(TideNodePool))
    roles = [pool.role_of(node.labels) for node in nodes]
    return TidePoolReport(item.record.name, {each.value: roles.count(each) for each in NodeRole})


def _waits(pod: StoredObject) -> bool:
    return not pod.record.node and not pod.is_terminating


def _name(item: StoredObject) -> str:
    return item.record.name
