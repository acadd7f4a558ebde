"""The runtime of a profile: one shard's engine for placing pods.

It owns what a shard may not share: its snapshot of the ledger, the class cache, and the cursors of
its tie rule. ``sync`` brings the snapshot up to date, ``place`` decides a batch on it. What the
shards of a profile share (class constants, static rows) is compiled once in ``CompiledProfile``.
"""

from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from stretto.base.arrays import distinct
from stretto.base.rng import Rng
from stretto.framework.affinity.compile import DomainTables, weights_of
from stretto.framework.affinity.counts import DomainView
from stretto.framework.affinity.view_for_rules import RuleView
from stretto.framework.compiled import affinity as domain_formulas
from stretto.framework.compiled.devices import fgd_thresholds
from stretto.framework.compiled.domain_tables import InterPodProgram
from stretto.framework.compiled.placement import NOT_TRIED, BatchPlacement, PlacementRequest
from stretto.framework.compiled.tables import (
    PodBatch,
    ScoreCache,
    SlotChoice,
    TieBreak,
    no_typical_pods,
)
from stretto.framework.compiled.ties import PICKS, TieRule, ZoneTurns, drawn_order
from stretto.framework.compiled.typical import observed_typical_pods
from stretto.framework.contract.rule import View
from stretto.framework.engine.class_table import ClassCompiler
from stretto.framework.engine.compile_scores import compile_scores
from stretto.framework.engine.image_scores import StaticScoreRenewals
from stretto.framework.engine.python_rules import PythonRules
from stretto.framework.engine.sampling import sampling_of
from stretto.framework.engine.score_cache import CacheEntries
from stretto.framework.kernels.numpy import place
from stretto.framework.kernels.numpy.slot_value import PointProgram, PointState
from stretto.framework.kernels.tiers import kernel
from stretto.framework.profile.profile import Profile
from stretto.state.cluster.cluster import Cluster
from stretto.state.nodes.eligibility import Eligibility
from stretto.state.rows.snapshot import Columns
from stretto.state.work.units import Cure

REPLAY_SHARE: Final = 32
"""A plain row is rebuilt when more than one entry per so many slots waits in the log."""
LEARN_AGAIN: Final = 4
"""Typical pods are learnt anew when the number of pods has changed by one part in so many."""


class CompiledProfile:
    """What the shards of one profile share: the rules compiled over one cluster."""

    def __init__(self, profile: Profile, cluster: Cluster) -> None:
        """Compile a profile over a cluster."""
        #: The profile.
        self.profile = profile
        #: The cluster.
        self.cluster = cluster
        #: What static rules look at: they read node objects, never columns.
        self._static_view = View(Columns(cluster.ledger), cluster.nodes)
        #: Static rows by signature.
        self.eligibility = Eligibility(
            profile.static_filters,
            profile.static_scores,
            cluster.nodes,
            lambda: self._static_view,
        )
        #: Static scores that nodes' images change.
        self.renewals = StaticScoreRenewals(profile, cluster.nodes, self.eligibility)
        #: Class constants.
        self.compiler = ClassCompiler(cluster, self.eligibility)
        #: Compiled slot-local scores.
        self.pair, self.scores = compile_scores(profile.slot_scores, cluster.ledger.resources)
        #: The workload that fragmentation is measured against.
        self.typical = profile.typical_pods(cluster.ledger.devices) or no_typical_pods()
        #: Rises when the typical pods were learnt anew: scores kept from before are void.
        self.workload_version = 0
        self._cures: dict[int, tuple[int, Cure]] = {}
        self._learnt_from = 0
        #: Rules that have no compiled form.
        self.asked = PythonRules(profile, cluster)
        #: What classes want of other pods, compiled.
        self.between = DomainTables(cluster, weights_of(profile.filters, profile.scores))
        domains, domains.external_rules = cluster.domains, self.asked.over_domains
        domains.defaults, domains.running_term_scoring = (
            profile.default_spread,
            profile.running_term_scoring,
        )
        cluster.static_listeners.append(self.eligibility.refresh)

    @property
    def is_plain(self) -> bool:
        """Whether amounts, ports, devices and static rows say all that a slot is worth."""
        idle = self.pair.first_weight + self.pair.second_weight <= 0
        return not (idle or len(self.scores.code) or self.asked.exists)

    def learn(self) -> None:
        """Learn the typical pods anew, where the profile wants it and the workload has changed."""
        pods = len(self.cluster.pods)
        if self.profile.learns and abs(pods - self._learnt_from) * LEARN_AGAIN > self._learnt_from:
            self._learnt_from = pods
            self.typical = observed_typical_pods(self.cluster)
            self.workload_version += 1

    def cures_of(self, class_id: int) -> Cure:
        """Events that may turn a "no" to this class into a "yes": those of the rules that ask."""
        serial = self.cluster.classes.serial(class_id)
        kept = self._cures.get(class_id)
        if kept is not None and kept[0] == serial:
            return kept[1]
        pod = self.cluster.classes[class_id]
        cures = Cure.NONE
        for rule in self.profile.every_filter:
            if rule.signature(pod) is not None:
                cures |= rule.cures(pod)
        self._cures[class_id] = serial, cures
        return cures

    def look(self) -> RuleView | None:
        """Who is where now, in a copy of its own; ``None`` where no rule counts anybody."""
        if not self.cluster.domains.populations:
            return None
        view = DomainView(self.between, self.cluster)
        view.sync()
        return RuleView(view)

    def is_eligible(self, class_id: int, slot: int) -> bool:
        """Whether the static filters let a class onto a slot now."""
        row = self.eligibility.filter_row(self.cluster.classes[class_id])
        return bool(self.eligibility.rows[row, slot])


class Runtime:
    """Places pods by one profile on one snapshot."""

    def __init__(self, engine: CompiledProfile, rng: Rng, tier: str = "auto") -> None:
        """A runtime of its own snapshot; ``tier`` is ``auto``, ``numba`` or ``numpy``."""
        #: What it shares with other shards.
        self.engine = engine
        #: The snapshot.
        self.columns = Columns(engine.cluster.ledger)
        #: Counts of other pods in this snapshot.
        self.between = DomainView(engine.between, engine.cluster)
        #: int32[slot]: ranks for the tie rules that go by a column.
        self.rank: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        #: uint8[block]: blocks of the own partition; all of them when there is none.
        self.own_block: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
        #: bool[slot]: the only slots that ``place`` may use now; ``None`` for any.
        self.only: npt.NDArray[np.bool_] | None = None
        #: Looks no further than some nodes; ``None`` looks at all.
        self.sampling = sampling_of(engine.profile, engine.cluster.nodes)
        self._kernel = kernel("numpy" if engine.asked.exists else tier)
        self._random = rng.numpy()
        self._thresholds = fgd_thresholds()
        self._plain = self._kernel.place_plain is not None and engine.is_plain
        self._entries = CacheEntries(store_rows=not self._plain)
        self._workload = self._renewed = 0
        self._zones = ZoneTurns()
        self._order_seed = rng.child("order").randint(0, 1 << 62)

    @property
    def view(self) -> View:
        """What rules may look at."""
        look = RuleView(self.between)
        return View(self.columns, self.engine.cluster.nodes, self.engine.typical, look)

    def sync(self) -> None:
        """Bring the snapshot up to date with the ledger."""
        if self.columns.sync() or self._workload != self.engine.workload_version:
            self._workload = self.engine.workload_version
            self._entries.reset(self.columns.size)
        slots = self.engine.cluster.ledger.slots
        if len(self.own_block) != slots.blocks:
            more = np.ones(slots.blocks - len(self.own_block), np.uint8)
            self.own_block = np.concatenate([self.own_block, more])
        if self._zones.follow(slots, self.own_block):
            self._entries.resize_rows(len(self._zones.ranges.first) - 1)
        self._sync_inter_pod()
        if self.engine.renewals.matter:
            self._renewed = self.engine.renewals.follow(self.columns, self._renewed)

    def _sync_inter_pod(self) -> None:
        """Bring the counts of other pods up to date, where any rule counts some."""
        if not self.engine.cluster.domains.populations:
            return
        changed = self.between.sync()
        if changed is None:
            self.columns.void()
        elif len(changed):
            self.columns.append(changed)

    def place(self, request: PlacementRequest) -> BatchPlacement:
        """Place a batch on the snapshot, in order; the snapshot shows the result at once."""
        return self.sampling.place(self, request) if self.sampling else self.place_here(request)

    def place_here(self, request: PlacementRequest) -> BatchPlacement:
        """Place a batch on all nodes; slots refused later are put right by the next ``sync``."""
        ids = np.asarray(request.class_ids, np.int32)
        count, units = len(ids), len(request.at_least)
        answer = np.full(count, NOT_TRIED, np.int32)
        devices = np.zeros(count, np.int32)
        if count == 0 or self.columns.size == 0:
            answer[:] = -1
            return BatchPlacement(answer, devices, units)
        wanted = distinct(ids)
        self._make_ready(wanted)
        self._confine(wanted)
        self.columns.has_log_capacity(2 * count + 1)
        pins = request.pins if len(request.pins) else [-1] * count
        blocking = request.blocking if len(request.blocking) else [False] * units
        batch = PodBatch(
            class_id=ids,
            pin=np.asarray(pins, np.int32),
            start=np.asarray(request.starts, np.int32),
            at_least=np.asarray(request.at_least, np.int32),
            blocking=np.asarray(blocking, np.uint8),
            draw=self._draws(count),
            slot=answer,
            devices=devices,
        )
        tried = self.run_kernel(batch)
        self._confine(wanted, over=True)
        if not self._has_inter_pod_terms(wanted):
            return BatchPlacement(answer, devices, int(tried))
        self.between.placed(ids[answer >= 0], answer[answer >= 0])
        return BatchPlacement(answer, devices, int(tried), others=self.between.basis)

    def room(self, class_id: int) -> int:
        """How many pods of a class fit at most now; 0 means none (an upper bound otherwise).

        Counts each feasible slot by its scarcest resource, ports and devices as one pod each.
        """
        feasible = np.flatnonzero(self.row(class_id))
        if not len(feasible):
            return 0
        if self.engine.cluster.classes[class_id].terms.hard:  # its own pods may open more
            feasible = np.flatnonzero(self._own_row(class_id))
        table = self.engine.compiler.table
        n = int(table.requests[class_id])
        bound = np.full(len(feasible), np.iinfo(np.int32).max, np.int64)
        for i in range(n):
            amount = int(table.amount[class_id, i])
            if amount > 0:
                free = self.columns.free[table.column[class_id, i], feasible]
                bound = np.minimum(bound, free // amount)
        return int(bound.clip(1).sum())

    def row(self, class_id: int) -> npt.NDArray[np.int16]:
        """int16[slot]: 0 where the class may not go now, else 1 + its score (a view, read only)."""
        return self._with_inter_pod(class_id, self._own_row(class_id))

    def _own_row(self, class_id: int) -> npt.NDArray[np.int16]:
        """The row without other pods."""
        if self.columns.size == 0:
            return np.zeros(0, np.int16)
        self._make_ready(np.array([class_id], np.int32))
        if self._plain and self._kernel.score_row is not None:
            made = np.empty(self.columns.size, np.int16)
            self._kernel.score_row(self._program(), class_id, self._state(), made)
            return made
        given = self._program(), class_id, self._state(), self._cache(), *self._log()
        self._kernel.refresh(*given)
        row: npt.NDArray[np.int16] = self._entries.row[self._entries.entry[class_id]]
        return row

    def _with_inter_pod(self, class_id: int, row: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
        """A row with what other pods make of it."""
        slots = np.arange(len(row))
        if len(row) and self._has_inter_pod_terms(np.array([class_id], np.int32)):
            between = self.between
            row = domain_formulas.overlay(between.table, between.state, class_id, row, slots)
        if self.engine.asked.over_domains:
            said = self.engine.asked.domain_values(self.view, class_id, slots)
            row = np.where((row > 0) & (said >= 0), np.maximum(row + said, 1), 0).astype(np.int16)
        return row

    def _has_inter_pod_terms(self, class_ids: npt.NDArray[np.int32]) -> bool:
        """Whether any of these classes wants something of other pods, or counts for others."""
        classes = self.engine.cluster.classes
        return self.engine.asked.over_domains or bool(
            (classes.counted[class_ids] | classes.judged[class_ids]).any()
        )

    def reference_row(self, class_id: int) -> npt.NDArray[np.int16]:
        """The same row by the rules' own functions over every slot: slow, and the yardstick."""
        pod, slots = self.engine.cluster.classes[class_id], np.arange(self.columns.size)
        passes = self.columns.live.astype(bool)
        for rule in self.engine.profile.every_filter:
            if rule.signature(pod) is not None:
                passes &= rule.filter(pod, self.view, slots)
        total = np.zeros(self.columns.size, np.int32)
        for score, weight in self.engine.profile.every_score:
            if score.signature(pod) is not None:
                total += weight * score.score(pod, self.view, slots)
        return np.where(passes, 1 + np.maximum(total, 0), 0).astype(np.int16)

    def run_kernel(self, batch: PodBatch) -> int:
        """The kernel call of ``place``; answers are in the batch, the units tried come back."""
        log, log_state, limit = self._log()
        given = (
            self._program(),
            self._state(),
            self._cache(),
            log,
            log_state,
            self.choice(),
            batch,
        )
        plain = self._kernel.place_plain if self._plain else None
        if not self._has_inter_pod_terms(batch.class_id):
            return int((plain or self._kernel.place)(*given, limit))
        among = self._among()
        if self._plain and self._kernel.place_plain_inter_pod is not None:
            return int(self._kernel.place_plain_inter_pod(*given, among.table, among.state))
        return int(self._kernel.place_inter_pod(*given, limit, among))

    def choice(self) -> SlotChoice:
        """How a slot is chosen among the best; its cursors move on with every pick."""
        return SlotChoice(
            pick=int(self.engine.profile.tie_rule),
            device_pick=int(self.engine.profile.device_pick),
            rank=self._rank(),
            block_zone=self.engine.cluster.ledger.slots.block_zone,
            own_block=self.own_block,
            range_of=self._zones.ranges.of_block,
            range_first=self._zones.ranges.first,
            range_block=self._zones.ranges.block,
            stride=self._zones.stride,
            passes=self._zones.passes,
            cursor=self._zones.cursor,
        )

    def _among(self) -> InterPodProgram:
        """What the kernels are given of rules between pods."""
        asked = self.engine.asked
        self.between.ensure_stamps(len(self._entries.position))
        values = partial(asked.domain_values, self.view) if asked.over_domains else None
        return InterPodProgram(self.between.table, self.between.state, values)

    def _make_ready(self, wanted: npt.NDArray[np.int32]) -> None:
        """Compile the classes and give each a row in the cache."""
        compiler = self.engine.compiler
        compiler.ensure(wanted)
        resources = len(self.engine.cluster.ledger.resources)
        if compiler.port_words > len(self.columns.ports) or resources > len(self.columns.free):
            self.sync()
        self._entries.hold(wanted, compiler.serials(wanted), self.columns.size)
        if self._has_inter_pod_terms(wanted) and self.between.ready(wanted):
            self.columns.void()

    def _confine(self, wanted: npt.NDArray[np.int32], *, over: bool = False) -> None:
        """Have classes scored anew inside ``only``, or outside it again."""
        if self.only is not None:
            self.engine.compiler.table.extra_row[wanted] = -1 if over else 0
            self._entries.position[self._entries.entry[wanted]] = -1

    def give_back(self, class_id: int, slot: int, mask: int) -> None:
        """Take a pod off the snapshot again that ``place`` has put there."""
        program, state = PointProgram(*self._program()[:6]), PointState(*self._state())
        place.apply(program, class_id, slot, state, mask, -1)
        self.columns.append(np.array([slot], np.int64))
        if self._has_inter_pod_terms(np.array([class_id], np.int32)):
            self.between.take(class_id, slot, -1)

    def _program(self) -> tuple[Any, ...]:
        engine, static = self.engine, self.engine.compiler.static
        if self.only is not None:
            static = static._replace(extra=np.where(self.only, 0, -1).astype(np.int16)[None, :])
        compiled = (
            engine.compiler.table,
            static,
            engine.pair,
            engine.scores,
            engine.typical,
            self._thresholds,
        )
        if not engine.asked.exists:
            return compiled
        return *compiled, partial(engine.asked.values, self.view)

    def _state(self) -> tuple[Any, ...]:
        c = self.columns
        return c.free, c.percent, c.ports, c.device_free, c.device_kind, c.device_model, c.census

    def _cache(self) -> ScoreCache:
        e = self._entries
        return ScoreCache(e.row, e.peak, e.top, e.position, e.entry)

    def _log(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], int]:
        limit = max(64, self.columns.size // REPLAY_SHARE)
        return self.columns.log, self.columns.log_state, limit

    def _rank(self) -> npt.NDArray[np.int32]:
        """Ranks for the tie rule: those that were given, else by name or by a drawn order."""
        ties = self.engine.profile.ties
        if PICKS[ties] is not TieBreak.RANK or len(self.rank) == self.columns.size:
            return self.rank
        if ties is TieRule.NAME:
            return self.engine.cluster.nodes.name_rank
        return drawn_order(self.columns.generation, self._order_seed)

    def _draws(self, count: int) -> npt.NDArray[np.uint64]:
        """Random draws, only where the profile makes use of them (a stream is part of a seed)."""
        if not self.engine.profile.draws:
            return np.zeros(count, np.uint64)
        return self._random.integers(0, 1 << 63, count, dtype=np.uint64)
