"""Measurement of a whole machine: its zones, and its use since the last measurement."""

from collections.abc import Mapping
from pathlib import Path

from stretto.agent.report.pods import NodePod
from stretto.agent.report.status import NodeMeasurement
from stretto.agent.report.zones import zone_tree
from stretto.agent.topology.gpus import GpuReader
from stretto.agent.topology.network import read_network
from stretto.agent.topology.processors import ProcessorFacts, read_processors
from stretto.agent.usage.cgroups import hidden_use
from stretto.agent.usage.machine import MachineReading, read_machine, use_between
from stretto.base.clock import Clock


class NodeReader:
    """Reader of one machine; each call measures it once."""

    def __init__(
        self, root: Path, gpus: GpuReader, clock: Clock, *, is_detailed: bool = False
    ) -> None:
        """Read the machine with the file system below ``root``.

        ``is_detailed`` reads memory by NUMA node and by kind.
        """
        self._root = root
        self._gpus = gpus
        self._clock = clock
        self._is_detailed = is_detailed
        self._last: MachineReading | None = None
        #: The processors of the last reading.
        self.processors = ProcessorFacts((), ())

    def read(self, pods: Mapping[str, NodePod]) -> NodeMeasurement | None:
        """Return the node and its use since the last call.

        ``None`` at the first call, and if the clock did not advance since the last one: there is no
        rate.

        Args:
            pods: pods of the node by uid.
        """
        devices, processors = read_network(self._root), read_processors(self._root)
        self.processors = processors
        numa_of = {cpu.number: cpu.numa for cpu in processors.cpus}
        placed = {uid for uid, pod in pods.items() if self._is_detailed and pod.needs_place}
        reading = read_machine(self._root, self._clock.monotonic(), numa_of, placed)
        last, self._last = self._last, reading
        if last is None or reading.at_s <= last.at_s:
            return None
        zones = zone_tree(processors, self._gpus.read(), devices)
        use, hidden = use_between(last, reading, len(processors.cpus)), hidden_use(self._root)
        now_s = self._clock.now()
        return NodeMeasurement(zones, use, pods, now_s, hidden, self._is_detailed)
