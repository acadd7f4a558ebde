"""Selection of the CPUs of a pod with exclusive CPUs.

Whole cores of one NUMA node are selected first, then of one socket, then of several; single CPUs
are last. Source: Koordinator's ``nodenumaresource/cpu_accumulator.go``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from stretto.base.errors import InputError


class Cpu(NamedTuple):
    """A logical CPU of a topology."""

    #: Its number.
    cpu: int
    #: Its socket.
    socket: int
    #: Its NUMA node.
    numa: int
    #: Its core; numbers are unique within a socket.
    core: int

    @property
    def core_key(self) -> tuple[int, int]:
        """The core's identity in the whole topology."""
        return self.socket, self.core


class BindPolicy(Enum):
    """Policy for how the CPUs of one pod share cores."""

    #: Whole cores.
    FULL = "FullPCPUs"
    #: One CPU of each core first.
    SPREAD = "SpreadByPCPUs"
    #: Any CPUs.
    BURST = "ConstrainedBurst"


class Exclusive(Enum):
    """The group of CPUs that a pod shares with no other pod of the same policy."""

    #: The pod shares all its CPUs.
    NONE = "None"
    #: Its cores.
    CORE = "PCPULevel"
    #: Its NUMA nodes.
    NUMA = "NUMANodeLevel"


class Order(Enum):
    """Order in which groups of CPUs are tried."""

    #: Groups with the fewest free CPUs first, which keeps large groups whole.
    MOST_ALLOCATED = "MostAllocated"
    #: Groups with the most free CPUs first.
    LEAST_ALLOCATED = "LeastAllocated"


@dataclass(frozen=True)
class CpuHolding:
    """The pods that use a CPU."""

    #: Number of pods.
    references: int
    #: The group that they share with no other pod.
    exclusive: Exclusive = Exclusive.NONE


@dataclass(frozen=True)
class CpuState:
    """CPUs of a node and the pods that use them."""

    #: All CPUs.
    topology: tuple[Cpu, ...]
    #: CPUs that can be assigned.
    available: frozenset[int]
    #: CPUs in use by pods.
    held: Mapping[int, CpuHolding] = field(default_factory=dict)
    #: Maximum number of pods per CPU; references count only above 1.
    shares: int = 1

    def references(self, cpu: Cpu) -> int:
        """Number of pods that use a CPU, if CPUs are shared."""
        holding = self.held.get(cpu.cpu)
        return holding.references if self.shares > 1 and holding is not None else 0


@dataclass(frozen=True)
class CpuRequest:
    """CPU requirements of a pod."""

    #: Number of CPUs.
    count: int
    #: Policy for sharing cores.
    bind: BindPolicy = BindPolicy.FULL
    #: The group that the pod shares with no other pod.
    exclusive: Exclusive = Exclusive.NONE
    #: Order in which groups are tried.
    order: Order = Order.MOST_ALLOCATED


def take(state: CpuState, request: CpuRequest, preferred: frozenset[int]) -> frozenset[int]:
    """Select CPUs for a pod, preferred ones first.

    Raises:
        InputError: there are too few CPUs.
    """
    wanted = state.available & preferred
    chosen: frozenset[int] = frozenset()
    for pool in (wanted, state.available - wanted):
        count = min(len(pool), request.count - len(chosen)) if pool is wanted else None
        need = request.count - len(chosen) if count is None else count
        if need > 0:
            chosen |= _Accumulator(state, request, pool, need).take()
    return chosen


class _Accumulator:
    """Selector of CPUs from one pool."""

    def __init__(
        self, state: CpuState, request: CpuRequest, pool: frozenset[int], need: int
    ) -> None:
        self._state = state
        self._request = request
        self._free = [each for each in state.topology if each.cpu in pool]
        self._need = need
        self._taken: list[int] = []
        self._per_core = _per_group(state.topology, lambda each: each.core_key)
        self._blocked = _Blocked(state, request.exclusive)

    def take(self) -> frozenset[int]:
        """Run all steps.

        Raises:
            InputError: there are too few CPUs.
        """
        full = self._request.bind is BindPolicy.FULL or self._per_core == 1
        if len(self._free) >= self._need:
            steps = [self._whole_cores] if full else []
            if self._request.bind is not BindPolicy.FULL:
                steps.append(self._single_group)
            for step in [*steps, self._rest]:
                step()
                if self._need <= 0:
                    return frozenset(self._taken)
        expected = f"at least {self._need} more free CPUs"
        raise InputError("cpus", len(self._free), expected, "choose another node")

    def _whole_cores(self) -> None:
        limits = [(_numa, False), (_numa, True), (_socket, True)]
        for key, with_blocked in limits:
            if self._need > _per_group(self._state.topology, key):
                continue
            cpus = self._cores(with_blocked=with_blocked)
            free = [c for c in self._free if with_blocked or not self._blocked.numa(c)]
            for group in self._ordered(cpus, key, sockets=_counted(free, _socket)):
                if len(group) >= self._need:
                    self._accept(self._core_order(group)[: self._need])
                    return
        self._whole_sockets()

    def _whole_sockets(self) -> None:
        left = []
        for chosen in self._ordered(self._cores(), _socket, largest=True):
            group = self._core_order(chosen)
            if self._need >= len(group):
                self._accept(group)
            else:
                left.append(group)
        if self._need >= self._per_core:
            for group in sorted(left, key=len):
                self._fill(group)

    def _fill(self, group: Sequence[Cpu]) -> None:
        """Take cores of a socket until less than a core is needed.

        Like the source, each socket gives at least one core while CPUs are needed, so the result
        can be larger than the request.
        """
        for start in range(0, len(group), self._per_core):
            if self._need > 0:
                self._accept(group[start : start + self._per_core])
            if self._need < self._per_core:
                return

    def _single_group(self) -> None:
        for key in (_numa, _socket):
            if self._need > _per_group(self._state.topology, key):
                continue
            unblocked = [each for each in self._free if not self._blocked.for_group(each, key)]
            for groups in (self._single_cores(unblocked, key), self._single_cpus(key)):
                for group in groups:
                    if len(group) >= self._need:
                        self._accept(self._spread(group)[: self._need])
                        return

    def _single_cores(self, cpus: Sequence[Cpu], key: "Key") -> list[list[Cpu]]:
        """One CPU of each core, by group; sockets are ordered by their number of cores."""
        if key is _socket:
            first = _first_of_cores(self._single_order(cpus))
            return [self._single_order(each) for each in self._ordered(first, key)]
        return [_first_of_cores(self._single_order(each)) for each in self._ordered(cpus, key)]

    def _single_cpus(self, key: "Key") -> list[list[Cpu]]:
        """All free CPUs, by group."""
        return [self._single_order(each) for each in self._ordered(self._free, key)]

    def _rest(self) -> None:
        unblocked = [each for each in self._free if not self._blocked.for_group(each, _numa)]
        self._accept(self._spread(self._core_fill_order(unblocked))[: self._need])
        self._accept(self._spread(self._core_fill_order(self._free))[: self._need])

    def _accept(self, cpus: Sequence[Cpu]) -> None:
        numbers = {each.cpu for each in cpus}
        self._blocked.add(cpus)
        self._taken += sorted(numbers)
        self._need -= len(numbers)
        self._free = [each for each in self._free if each.cpu not in numbers]

    def _cores(self, *, with_blocked: bool = True) -> list[Cpu]:
        """Free CPUs of cores that are completely free."""
        counts = _counted(self._free, lambda each: each.core_key)
        return [
            each
            for each in self._free
            if counts[each.core_key] == self._per_core
            and (with_blocked or not self._blocked.numa(each))
        ]

    def _ordered(
        self,
        cpus: Sequence[Cpu],
        key: "Key",
        *,
        sockets: Mapping[object, int] | None = None,
        largest: bool = False,
    ) -> list[list[Cpu]]:
        """Groups of CPUs in the order in which they are tried."""
        groups: dict[int, list[Cpu]] = {}
        for each in cpus:
            groups.setdefault(key(each), []).append(each)
        free = _counted(cpus, _socket) if sockets is None else sockets
        rising = self._request.order is Order.MOST_ALLOCATED and not largest
        sign = 1 if rising else -1

        def rank(name: int) -> tuple[int, int, int]:
            group = groups[name]
            whole = free[group[0].socket] if key is _numa else 0
            return sign * len(group), sign * whole, name

        return [groups[name] for name in sorted(groups, key=rank)]

    def _core_order(self, cpus: Iterable[Cpu]) -> list[Cpu]:
        """CPUs core by core: cores with the fewest references first."""
        cores = _references(self._state, cpus)
        return sorted(cpus, key=lambda each: (cores[each.core_key], *each.core_key, each.cpu))

    def _single_order(self, cpus: Iterable[Cpu]) -> list[Cpu]:
        return sorted(cpus, key=lambda each: (self._state.references(each), each.cpu))

    def _core_fill_order(self, cpus: Sequence[Cpu]) -> list[Cpu]:
        """CPUs that complete partly used cores."""
        own = _counted((c for c in self._state.topology if c.cpu in self._taken), _socket)
        sockets, nodes = _counted(cpus, _socket), _counted(cpus, _numa)
        cores = _counted(cpus, lambda each: each.core_key)
        references = _references(self._state, cpus)
        sign = 1 if self._request.order is Order.MOST_ALLOCATED else -1
        return sorted(
            cpus,
            key=lambda each: (
                -own.get(each.socket, 0),
                sign * sockets[each.socket],
                sign * nodes[each.numa],
                cores[each.core_key],
                each.socket,
                references[each.core_key],
                each.core,
                self._state.references(each),
                each.cpu,
            ),
        )

    def _spread(self, cpus: Sequence[Cpu]) -> list[Cpu]:
        """One CPU of each core, then the second of each."""
        if len(cpus) <= self._per_core:
            return list(cpus)
        seen: dict[tuple[int, int], int] = {}
        turns = []
        for position, each in enumerate(cpus):
            turn = seen.get(each.core_key, 0)
            seen[each.core_key] = turn + 1
            turns.append((turn, position, each))
        return [each for _, _, each in sorted(turns, key=lambda t: t[:2])]


class _Blocked:
    """CPUs that an exclusive pod avoids: those of other exclusive pods and those it has taken."""

    def __init__(self, state: CpuState, exclusive: Exclusive) -> None:
        self._exclusive = exclusive
        self._cores: set[tuple[int, int]] = set()
        self._nodes: set[int] = set()
        self.add(
            each
            for each in state.topology
            if each.cpu in state.held and state.held[each.cpu].exclusive is exclusive
        )

    def add(self, cpus: Iterable[Cpu]) -> None:
        """Block the cores or the NUMA nodes of CPUs."""
        for each in cpus:
            if self._exclusive is Exclusive.CORE:
                self._cores.add(each.core_key)
            elif self._exclusive is Exclusive.NUMA:
                self._nodes.add(each.numa)

    def core(self, cpu: Cpu) -> bool:
        """Return whether the core is in use."""
        return cpu.core_key in self._cores

    def numa(self, cpu: Cpu) -> bool:
        """Return whether the NUMA node is in use."""
        return cpu.numa in self._nodes

    def for_group(self, cpu: Cpu, key: "Key") -> bool:
        """Return whether a CPU must not be part of a group; sockets ignore NUMA nodes."""
        return self.core(cpu) or (key is _numa and self.numa(cpu))


Key = Callable[[Cpu], int]


def _numa(cpu: Cpu) -> int:
    return cpu.numa


def _socket(cpu: Cpu) -> int:
    return cpu.socket


def _first_of_cores(cpus: Iterable[Cpu]) -> list[Cpu]:
    """The first CPU of each core, in the same order."""
    found: dict[tuple[int, int], Cpu] = {}
    for each in cpus:
        found.setdefault(each.core_key, each)
    return list(found.values())


def _counted(cpus: Iterable[Cpu], key: Callable[[Cpu], object]) -> dict[object, int]:
    counts: dict[object, int] = {}
    for each in cpus:
        counts[key(each)] = counts.get(key(each), 0) + 1
    return counts


def _per_group(topology: Sequence[Cpu], key: Callable[[Cpu], object]) -> int:
    """Number of CPUs per group in an even topology."""
    return len(topology) // max(len({key(each) for each in topology}), 1)


def _references(state: CpuState, cpus: Iterable[Cpu]) -> dict[tuple[int, int], int]:
    sums: dict[tuple[int, int], int] = {}
    for each in cpus:
        sums[each.core_key] = sums.get(each.core_key, 0) + state.references(each)
    return sums
