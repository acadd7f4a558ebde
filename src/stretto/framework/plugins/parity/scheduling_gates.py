"""SchedulingGates: a pod with a gate is not scheduled."""

from typing import Final

from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.status import SUCCESS, PluginStatus, unresolvable

NAME: Final = "SchedulingGates"


def preenqueue(pod: SchedulingFacts) -> PluginStatus:
    """Status of the pod: refused while a gate remains."""
    gates = pod.pod.spec.scheduling_gates
    if not gates:
        return SUCCESS
    listed = " ".join(each.name for each in gates)
    return unresolvable(f"waiting for scheduling gates: [{listed}]")
