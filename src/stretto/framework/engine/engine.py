"""A profile compiled over a cluster: what the shards of the profile share."""

from typing import Final

from stretto.framework.affinity.compile import DomainTables, weights_of
from stretto.framework.affinity.view_for_rules import RuleView, current_view
from stretto.framework.compiled.tables import no_typical_pods
from stretto.framework.compiled.typical import observed_typical_pods
from stretto.framework.engine.class_table import ClassCompiler
from stretto.framework.engine.compile_scores import compile_scores
from stretto.framework.engine.cures import ClassCures
from stretto.framework.engine.python_rules import PythonRules
from stretto.framework.engine.static_rows import StaticScoreRenewals, static_rows_of
from stretto.framework.profile.profile import Profile
from stretto.state.cluster.cluster import Cluster

LEARN_AGAIN: Final = 4
"""Typical pods are learnt again when the number of pods has changed by one part in so many."""


class CompiledProfile:
    """What the shards of one profile share: the rules compiled over one cluster."""

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
        #: Class constants.
        self.compiler = ClassCompiler(cluster, self.eligibility)
        #: Compiled slot-local scores.
        self.pair, self.scores = compile_scores(profile.slot_scores, cluster.ledger.resources)
        #: The workload that fragmentation is measured against.
        self.typical = profile.typical_pods(cluster.ledger.devices) or no_typical_pods()
        #: Rises when the typical pods were learnt again: scores kept from before are void.
        self.workload_version = 0
        #: ``cures_of(class_id)``: events that may make a class feasible again.
        self.cures_of = ClassCures(profile, cluster).of
        self._learnt_from = 0
        #: Rules that have no compiled form.
        self.asked = PythonRules(profile, cluster)
        #: Constraints between pods, compiled.
        self.between = DomainTables(cluster, weights_of(profile.filters, profile.scores))
        cluster.domains.read_by_external_rules(wanted=self.asked.over_domains)
        cluster.domains.configure(profile.default_spread, profile.running_term_scoring)

    @property
    def is_plain(self) -> bool:
        """Whether amounts, ports, devices and static rows say all, Python rules aside."""
        idle = self.pair.first_weight + self.pair.second_weight <= 0
        return not (idle or len(self.scores.code))

    def learn(self) -> None:
        """Learn the typical pods again, where the profile says so and the pods have changed."""
        pods = len(self.cluster.pods)
        if self.profile.learns and abs(pods - self._learnt_from) * LEARN_AGAIN > self._learnt_from:
            self._learnt_from = pods
            self.typical = observed_typical_pods(self.cluster)
            self.workload_version += 1

    def look(self) -> RuleView | None:
        """Which pods are where now, as a copy; ``None`` where no rule counts pods."""
        return current_view(self.between, self.cluster)

    def is_eligible(self, class_id: int, slot: int) -> bool:
        """Whether the static filters allow a class on a slot now."""
        row = self.eligibility.filter_row(self.cluster.classes[class_id])
        return bool(self.eligibility.rows[row, slot])
