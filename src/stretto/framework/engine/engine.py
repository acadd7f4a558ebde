"""A profile compiled over a cluster: the state that the shards of the profile share."""

from typing import Final

from stretto.framework.affinity.compile import DomainTables, weights_of
from stretto.framework.affinity.view_for_rules import RuleView, current_view
from stretto.framework.compiled.tables import no_typical_pods
from stretto.framework.compiled.typical import observed_typical_pods
from stretto.framework.engine.class_table import ClassCompiler
from stretto.framework.engine.compile_scores import compile_scores
from stretto.framework.engine.cures import ClassCures
from stretto.framework.engine.derived import derived_filter
from stretto.framework.engine.python_rules import PythonRules
from stretto.framework.engine.static_rows import StaticScoreRenewals, static_rows_of
from stretto.framework.profile.profile import Profile
from stretto.state.cluster.cluster import Cluster

LEARN_AGAIN: Final = 4
"""Divisor: typical pods are relearned when the number of pods changed by one part in it."""


class CompiledProfile:
    """The rules of one profile compiled over one cluster, shared by its shards."""

    def __init__(self, profile: Profile, cluster: Cluster) -> None:
        """Compile a profile over a cluster."""
        #: The profile.
        self.profile = profile
        #: The cluster.
        self.cluster = cluster
        #: Static rows by signature.
        self.eligibility = static_rows_of(profile, cluster)
        #: Static scores that depend on the images of nodes.
        self.renewals = StaticScoreRenewals(profile, cluster.nodes, self.eligibility)
        #: The filter with columns of its own.
        self.derived = derived_filter(profile, cluster)
        columns = None if self.derived is None else self.derived.columns
        #: Class constants.
        self.compiler = ClassCompiler(cluster, self.eligibility, columns)
        #: Compiled slot-local scores.
        self.pair, self.scores = compile_scores(
            profile.slot_scores, cluster.ledger.resources, self.derived
        )
        #: Typical pods against which fragmentation is measured.
        self.typical = profile.typical_pods(cluster.ledger.devices) or no_typical_pods()
        #: Increases when the typical pods are relearned: cached scores become invalid.
        self.workload_version = 0
        #: ``cures_of(class_id)``: events that may make a class feasible again.
        self.cures_of = ClassCures(profile, cluster).of
        #: True if a rule measures against typical pods that are learned from the cluster.
        self.learns = profile.learns
        self._learnt_from = 0
        #: Rules without a compiled form.
        self.python_rules = PythonRules(profile, cluster, self.derived)
        #: Inter-pod constraints, compiled.
        self.between = DomainTables(cluster, weights_of(profile.filters, profile.scores))
        cluster.domains.read_by_external_rules(wanted=self.python_rules.over_domains)
        cluster.domains.configure(profile.default_spread, profile.running_term_scoring)

    @property
    def is_plain(self) -> bool:
        """True if only resources, ports, devices, static rows and Python rules decide."""
        idle = self.pair.first_weight + self.pair.second_weight <= 0
        return not (idle or len(self.scores.code))

    def learn(self) -> None:
        """Relearn the typical pods if the profile uses them and the pods have changed."""
        if not self.learns:
            return
        pods = len(self.cluster.pods)
        if abs(pods - self._learnt_from) * LEARN_AGAIN > self._learnt_from:
            self._learnt_from = pods
            self.typical = observed_typical_pods(self.cluster)
            self.workload_version += 1

    def look(self) -> RuleView | None:
        """A copy of the current pod counts; ``None`` if no rule counts pods."""
        return current_view(self.between, self.cluster)

    def is_eligible(self, class_id: int, slot: int) -> bool:
        """Return whether the static filters allow a class on a slot at present."""
        row = self.eligibility.filter_row(self.cluster.classes[class_id])
        return bool(self.eligibility.rows[row, slot])
