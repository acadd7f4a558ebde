"""Recommendations from a file of measurements, as a recommender would have computed them."""

from collections.abc import Iterable

from stretto.api.types.capacity.vertical import ContainerVerticalPolicy
from stretto.capacity.vertical.bounds import recommend
from stretto.capacity.vertical.history import (
    ContainerHistograms,
    ContainerHistory,
    VerticalConfig,
)
from stretto.capacity.vertical.policies import capped
from stretto.explain.inventory.use.advice import ContainerNow, RecommendedRow, recommended_rows
from stretto.inputs.traces.container_use import ContainerUseRow


class ReplayedUse:
    """The histories of the containers in a file."""

    def __init__(self, rows: Iterable[ContainerUseRow]) -> None:
        """Add measurements and kills in their order."""
        self._config = VerticalConfig()
        self._uses: dict[str, dict[str, ContainerHistograms]] = {}
        self._instances: dict[tuple[str, str, str], ContainerHistory] = {}
        self._requests: dict[tuple[str, str], dict[str, int]] = {}
        for row in rows:
            self._add(row)

    def rows(self) -> list[RecommendedRow]:
        """Return the recommendations by workload, container and resource."""
        found: list[RecommendedRow] = []
        for workload, uses in sorted(self._uses.items()):
            for name, use in sorted(uses.items()):
                bounds = recommend(use, self._config, len(uses))
                requests = self._requests[workload, name]
                now = ContainerNow(workload, requests, use.sampled)
                found += recommended_rows(now, capped(name, bounds, ContainerVerticalPolicy()))
        return found

    def _add(self, row: ContainerUseRow) -> None:
        uses = self._uses.setdefault(row.workload, {})
        use = uses.setdefault(row.container, ContainerHistograms(self._config))
        key = (row.workload, row.pod, row.container)
        history = self._instances.setdefault(key, ContainerHistory(self._config, use))
        history.add_cpu(row.cpu / 1000, row.second)
        history.add_memory(row.memory, row.second)
        if row.killed:
            history.add_kill(max(row.requests.get("memory", 0), row.memory), row.second)
        self._requests[row.workload, row.container] = row.requests
