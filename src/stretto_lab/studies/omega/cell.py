"""The simulated cell: machines, the ledger, the profile and the binder's conflict check."""

import numpy as np

from stretto.api.codec import decode_as
from stretto.api.types.core import Node
from stretto.base.rng import Rng
from stretto.control.binder.conflicts import ClaimChecks, PlanJudge
from stretto.control.binder.hosts.judge import HostJudge, host_pool
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.profile.profile import load_profile
from stretto.inputs.neutral.fleet import FleetNode
from stretto.inputs.objects.objects import node_body
from stretto.state.cluster.cluster import Cluster
from stretto.state.work.claims import ConflictMode
from stretto_lab.studies.omega.model import OmegaCell


class SimulatedCell:
    """The cluster of one run; a share of its cores remains occupied for the whole run."""

    def __init__(self, cell: OmegaCell, rng: Rng) -> None:
        """Create the machines and occupy ``cell.fill`` of their cores."""
        #: The cluster.
        self.cluster = Cluster()
        for number in range(cell.machines):
            node = FleetNode(f"m{number}", cell.cpu_milli, cell.memory_mib, max_pods=cell.cpu_milli)
            self.cluster.node_updates.put(decode_as(Node, node_body(node)))
        #: The profile that chooses machines.
        self.engine = CompiledProfile(load_profile(cell.policy), self.cluster)
        checks = ClaimChecks(self.engine.is_eligible)
        each = PlanJudge(self.cluster, checks, cell.conflicts, cell.commit)
        pool = host_pool(self.cluster, cell.hosts.gang_seconds)
        #: The host actors; ``None`` in the other modes.
        self.hosts: HostJudge | None = None
        if cell.conflicts is ConflictMode.HOSTS:
            self.hosts = HostJudge(each, pool, lambda: 0.0)
        #: The conflict check of the binder.
        self.judge: PlanJudge | HostJudge = self.hosts or each
        self._fill(cell, rng)

    def _fill(self, cell: OmegaCell, rng: Rng) -> None:
        """Occupy a share of the cores, core by core, on machines drawn by the seed."""
        cores = cell.cpu_milli // 1000
        places = np.repeat(np.array(sorted(self.cluster.nodes.by_name.values())), cores)
        draw = rng.child("fill").numpy()
        occupied = draw.permutation(places)[: int(cell.fill * len(places))]
        ledger = self.cluster.ledger
        share = cell.memory_mib * (1 << 20) // max(1, cores)
        cpu, memory = ledger.resources.column("cpu"), ledger.resources.column("memory")
        for slot in occupied.tolist():
            ledger.charge(slot, [(cpu, 1000), (memory, share // 2)])
