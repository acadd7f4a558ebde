"""The plugins of one webhook: filter, score and select by calls to its server."""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum

from stretto.api.types.federation.policies import SchedulingMode
from stretto.federation.scheduling.fleet import ClusterColumn, ClusterMask, MemberFleet
from stretto.federation.scheduling.plugins import ClusterPlugins
from stretto.federation.scheduling.replicas.contract import ReplicaDivision
from stretto.federation.scheduling.replicas.kubeadmiral import kubeadmiral_division
from stretto.federation.scheduling.scores import ClusterScore, Scale
from stretto.federation.scheduling.selectors import Ranking
from stretto.federation.scheduling.supply import Positions, SupplyTable
from stretto.federation.scheduling.workload import FederatedWorkload
from stretto.federation.webhooks.replies import (
    FilterBatchReply,
    FilterReply,
    ReplicasReply,
    ScoreBatchReply,
    ScoreReply,
    SelectReply,
)
from stretto.federation.webhooks.server import WebhookError, WebhookServer
from stretto.stores.webhooks import WebhookAnswer


class WebhookFailure(Enum):
    """Effect of a webhook that gives no usable answer."""

    #: The decision ends and is repeated.
    ENDS = "ends the decision"
    #: A filter rejects the cluster, as in KubeAdmiral; other stages end the decision.
    REJECTS = "rejects the cluster"
    #: Its plugins are left out; used by queries, which write nothing.
    PASSES = "is left out"


class WebhookPlugins:
    """The plugins of one webhook."""

    def __init__(
        self,
        server: WebhookServer,
        failure: WebhookFailure,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Initialize with a server.

        Args:
            server: the server.
            failure: effect of a call without a usable answer.
            note: called with the reason when the plugins are left out.
        """
        self._server = server
        self._failure = failure
        self._note = note

    def plugins(self) -> ClusterPlugins:
        """One plugin for each stage that has a path."""
        spec, name = self._server.spec, self._server.name
        return ClusterPlugins(
            {name: self._filter} if spec.filter_path else {},
            {name: ClusterScore(self._score, Scale.MOST_IS_BEST)} if spec.score_path else {},
            {name: self._select} if spec.select_path else {},
            {name: self._divide} if spec.replicas_path else {},
        )

    # ---------------------------------------------------------------- stages

    def _filter(self, _workload: FederatedWorkload, fleet: MemberFleet) -> ClusterMask:
        server, path = self._server, self._server.spec.filter_path
        if not server.is_batched:
            return fleet.mask(map(self._is_selected, server.singly(path, fleet.names)))
        try:
            found = server.read(server.batch(path, fleet.names), FilterBatchReply).selected
        except WebhookError as error:
            return fleet.all(self._passes(error))
        return fleet.mask(found.get(name, False) for name in fleet.names)

    def _is_selected(self, answer: WebhookAnswer) -> bool:
        try:
            return self._server.read(answer, FilterReply).selected
        except WebhookError as error:
            return self._passes(error)

    def _passes(self, error: WebhookError) -> bool:
        """True if a failing filter accepts a cluster.

        Raises:
            WebhookError: the failure ends the decision.
        """
        if self._failure is WebhookFailure.REJECTS:
            return False
        self._leave_out(error)
        return True

    def _leave_out(self, error: WebhookError) -> None:
        """Leave out a failing plugin.

        Raises:
            WebhookError: the failure ends the decision.
        """
        if self._failure is not WebhookFailure.PASSES:
            raise error
        self._note(error.problem)

    def _score(self, _workload: FederatedWorkload, fleet: MemberFleet) -> ClusterColumn:
        try:
            return self._scores(fleet)
        except WebhookError as error:
            self._leave_out(error)
            return fleet.column(0 for _ in fleet.names)

    def _scores(self, fleet: MemberFleet) -> ClusterColumn:
        server, path = self._server, self._server.spec.score_path
        if not server.is_batched:
            answers = server.singly(path, fleet.names)
            return fleet.column(server.read(each, ScoreReply).score for each in answers)
        found = server.read(server.batch(path, fleet.names), ScoreBatchReply).scores
        return fleet.column(found.get(name, 0) for name in fleet.names)

    def _select(self, _workload: FederatedWorkload, clusters: Ranking) -> Ranking:
        try:
            return self._selected(clusters)
        except WebhookError as error:
            self._leave_out(error)
            return clusters

    def _selected(self, clusters: Ranking) -> Ranking:
        by_name = {each.name: each for each in clusters}
        answer = self._server.selection({name: each.points for name, each in by_name.items()})
        names = self._server.read(answer, SelectReply).selected_cluster_names
        for name in names:
            if name not in by_name:
                text = f"selected the cluster {name}, which is not one of: {', '.join(by_name)}"
                raise WebhookError(f"{self._server.name} {text}")
        return tuple(by_name[name] for name in dict.fromkeys(names))

    def _divide(
        self, workload: FederatedWorkload, supply: SupplyTable, at: Positions
    ) -> ReplicaDivision:
        names = [supply.members[each].name for each in at.tolist()]
        if workload.mode is SchedulingMode.DUPLICATE:
            return ReplicaDivision(dict.fromkeys(names))
        try:
            found = self._replicas(names, workload.replicas)
        except WebhookError as error:
            self._leave_out(error)
            return kubeadmiral_division(workload, supply, at)
        counts = {name: count for name, count in found.items() if count}
        return ReplicaDivision(counts, unplaced=workload.replicas - sum(counts.values()))

    def _replicas(self, names: Sequence[str], most: int) -> Mapping[str, int]:
        """The replicas of each cluster.

        Raises:
            WebhookError: the answer is missing, or contains another cluster or too many replicas.
        """
        server = self._server
        answer = server.batch(server.spec.replicas_path, names)
        found = server.read(answer, ReplicasReply).replicas
        others = sorted(found.keys() - set(names))
        if others:
            text = f"gave replicas to {', '.join(others)}, which is none of: {', '.join(names)}"
            raise WebhookError(f"{server.name} {text}")
        total = sum(found.values())
        if total > most:
            raise WebhookError(f"{server.name} gave {total} replicas of {most}")
        return found
