"""Class scores of one shard.

The class cache, and the kernels that fill it and place pods with it.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from stretto.framework.affinity.counts import DomainView
from stretto.framework.compiled.devices import fgd_thresholds
from stretto.framework.compiled.domain_tables import InterPodProgram
from stretto.framework.compiled.tables import PodBatch, ScoreCache, SlotChoice
from stretto.framework.contract.rule import View
from stretto.framework.engine.callback import RuleCallback
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.engine.score_cache import CacheEntries
from stretto.framework.kernels.numpy.place import release
from stretto.framework.kernels.tiers import kernel
from stretto.state.rows.snapshot import Columns

REPLAY_SHARE: Final = 32
"""Divisor: the NumPy tier rebuilds a plain row beyond one log entry per this number of slots."""


class ClassScores:
    """The scores of slots for classes, on one snapshot."""

    def __init__(
        self, engine: CompiledProfile, columns: Columns, view: Callable[[], View], tier: str
    ) -> None:
        """Use one snapshot; ``view`` returns the state that Python rules may read."""
        #: The snapshot.
        self.columns = columns
        #: The kernels.
        self.kernel = kernel(tier)
        #: The Python rules; ``None`` if the profile has none.
        self.rules = RuleCallback(engine.python_rules, view) if engine.python_rules.exists else None
        #: True if the kernel scores blocks on demand and stores no row of values.
        self.plain = self.kernel.place_plain is not None and engine.is_plain
        #: The cached scores: rows of values, or the results of Python rules.
        self.entries = CacheEntries(
            store_rows=not self.plain or self.rules is not None,
            store_answers=self.plain and self.rules is not None,
        )
        self._engine = engine
        self._thresholds = fgd_thresholds()
        self._workload = 0

    def sync(self, *, fresh: bool) -> None:
        """Drop all scores after new arrays (``fresh``) or relearned typical pods."""
        if fresh or self._workload != self._engine.workload_version:
            self._workload = self._engine.workload_version
            self.entries.reset(self.columns.size)

    def hold(self, wanted: npt.NDArray[np.int32]) -> None:
        """Assign an entry to each of these classes."""
        serials = self._engine.compiler.serials[wanted]
        self.entries.hold(wanted, serials, len(self.columns.live))

    def program(self, only: npt.NDArray[np.bool_] | None) -> tuple[Any, ...]:
        """The compiled profile, for the kernels; ``only`` selects the slots that may be used."""
        engine, static = self._engine, self._engine.compiler.static
        if only is not None:
            static = static._replace(extra=np.where(only, 0, -1).astype(np.int16)[None, :])
        return (
            engine.compiler.table,
            static,
            engine.pair,
            engine.scores,
            engine.typical,
            self._thresholds,
        )

    def state(self) -> tuple[Any, ...]:
        """The snapshot, for the kernels."""
        c = self.columns
        return c.free, c.percent, c.ports, c.device_free, c.device_kind, c.device_model, c.census

    def row(self, class_id: int, only: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.int16]:
        """int16[slot]: the values of a compiled class, without the inter-pod constraints."""
        program, state = self.program(only), self.state()
        log, log_state, limit = self._log()
        given = program, class_id, state, self._cache(), log, log_state
        if self.plain and self.kernel.plain_row is not None:
            made: npt.NDArray[np.int16] = self.kernel.plain_row(*given, self.rules)
            return made
        entry = self.kernel.refresh(*given, limit, self.rules)
        row: npt.NDArray[np.int16] = self.entries.row[entry]
        return row

    def place(
        self,
        batch: PodBatch,
        choice: SlotChoice,
        only: npt.NDArray[np.bool_] | None,
        between: DomainView | None,
    ) -> int:
        """Call the kernel: results are in the batch; returns the number of units tried.

        ``between`` contains the counts of other pods. It is needed if a pod of the batch has
        inter-pod constraints or matches those of other pods.
        """
        among = None
        if between is not None:
            between.ensure_stamps(len(self.entries.position))
            among = InterPodProgram(between.table, between.state)
        plain, rules = self.kernel.place_plain if self.plain else None, self.rules
        if rules is not None and not rules.concerns(batch.class_id):
            rules = None  # the kernel without calls is faster, and its results are the same
        log, log_state, limit = self._log()
        given = self.program(only), self.state(), self._cache(), log, log_state, choice, batch
        return int((plain or self.kernel.place)(*given, limit, among, rules))

    def release(self, class_id: int, slot: int, mask: int) -> None:
        """Release the requests and devices of a pod on a slot."""
        release(self.program(None), self.state(), class_id, slot, mask)

    def _cache(self) -> ScoreCache:
        e = self.entries
        return ScoreCache(
            e.row, e.peak, e.top, e.position, e.row_position, e.unknown, e.refused, e.entry
        )

    def _log(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], int]:
        limit = max(64, len(self.columns.live) // REPLAY_SHARE)
        return self.columns.log, self.columns.log_state, limit
