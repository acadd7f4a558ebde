"""The measured use of the containers of one workload."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from stretto.capacity.vertical.history import (
    ContainerHistograms,
    ContainerHistory,
    MemoryWindow,
    VerticalConfig,
)


class ContainerSample(NamedTuple):
    """One measurement of a container."""

    #: Name of the container.
    container: str
    #: Time of the measurement, in seconds since the epoch.
    at_s: float
    #: Used CPU in cores; ``None`` if it is not measured.
    cores: float | None
    #: Used memory in bytes; ``None`` if it is not measured.
    memory: int | None


class ContainerKill(NamedTuple):
    """One out-of-memory kill of a container."""

    #: Name of the container.
    container: str
    #: Time of the kill, in seconds since the epoch.
    at_s: float
    #: Requested memory in bytes; 0 without a request.
    memory: int


class PodMeasurements(NamedTuple):
    """A pod of a workload with its current measurements."""

    #: Uid of the pod.
    uid: str
    #: Names of its containers.
    containers: tuple[str, ...]
    #: The current measurements.
    samples: tuple[ContainerSample, ...] = ()
    #: The last out-of-memory kill of each killed container.
    kills: tuple[ContainerKill, ...] = ()


class OngoingWindow(NamedTuple):
    """The current interval of one instance of a container."""

    #: The interval of memory.
    window: MemoryWindow
    #: Time of the last counted kill, in seconds since the epoch; minus infinity without one.
    killed_s: float = -math.inf


class RestoredUse(NamedTuple):
    """The history of a container before a restart."""

    #: The history, with the peaks of all its windows.
    use: ContainerHistograms
    #: The current interval of each instance, by the uid of its pod.
    windows: Mapping[str, OngoingWindow]
    #: Time until which kills are counted, in seconds since the epoch.
    until_s: float


class WorkloadUse:
    """The histories of the containers of one workload, by name of the container."""

    def __init__(self, config: VerticalConfig, now: float) -> None:
        """Start without samples; kills of the last interval before ``now`` count."""
        self._config = config
        self._since_s = now - config.memory_interval_s
        self._restored: dict[str, RestoredUse] = {}
        self._instances: dict[tuple[str, str], ContainerHistory] = {}
        self._present: frozenset[str] = frozenset()
        #: Histories by name of the container.
        self.uses: dict[str, ContainerHistograms] = {}

    @property
    def current(self) -> Mapping[str, ContainerHistograms]:
        """The histories of the containers of the last pods; before the first pods, all."""
        if not self._present:
            return self.uses
        return {name: use for name, use in self.uses.items() if name in self._present}

    def restore(self, container: str, restored: RestoredUse) -> None:
        """Continue the history of a container."""
        self._restored[container] = restored
        self.uses[container] = restored.use

    def observe(self, pods: Sequence[PodMeasurements]) -> int:
        """Add the measurements and kills of all pods; return the number of measured pods.

        A measurement that is not newer than the last one does not count again. Pods that are
        missing here have ended.
        """
        present = {(pod.uid, name) for pod in pods for name in pod.containers}
        self._present = frozenset(name for _, name in present)
        for key in self._instances.keys() - present:
            del self._instances[key]
        for pod in pods:
            for sample in pod.samples:
                self._add(pod.uid, sample)
            for kill in pod.kills:
                self._add_kill(pod.uid, kill)
        return sum(bool(pod.samples) for pod in pods)

    def windows(self, container: str, now: float) -> Iterator[tuple[str, OngoingWindow]]:
        """The current interval of each instance of a container, with the uid of its pod."""
        for (uid, name), each in self._instances.items():
            if name == container and each.window is not None and now < each.window.end_s:
                yield uid, OngoingWindow(each.window, each.killed_s)

    def drop_expired(self, now: float) -> None:
        """Drop the histories of containers without samples for too long."""
        for name, use in list(self.uses.items()):
            if now - use.sampled.last_s >= self._config.expiry_s:
                del self.uses[name]
                self._restored.pop(name, None)
                for key in [each for each in self._instances if each[1] == name]:
                    del self._instances[key]

    def _add(self, uid: str, sample: ContainerSample) -> None:
        history = self._instance(uid, sample.container)
        if sample.cores is not None:
            history.add_cpu(sample.cores, sample.at_s)
        if sample.memory is not None:
            history.add_memory(sample.memory, sample.at_s)

    def _add_kill(self, uid: str, kill: ContainerKill) -> None:
        """Add a kill unless it is counted already or too old."""
        restored = self._restored.get(kill.container)
        since = self._since_s if restored is None else restored.until_s
        history = self._instance(uid, kill.container)
        known = history.killed_s if history.killed_s > -math.inf else since
        if kill.at_s > known:
            history.add_kill(kill.memory, kill.at_s)

    def _instance(self, uid: str, container: str) -> ContainerHistory:
        found = self._instances.get((uid, container))
        if found is None:
            use = self.uses.setdefault(container, ContainerHistograms(self._config))
            restored = self._restored.get(container)
            known = restored.windows.get(uid) if restored is not None else None
            found = (
                ContainerHistory(self._config, use)
                if known is None
                else ContainerHistory(self._config, use, known.window, known.killed_s)
            )
            self._instances[uid, container] = found
        return found
