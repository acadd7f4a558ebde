"""Settings of a federation's controllers."""

from dataclasses import dataclass

from stretto.federation import names


@dataclass(frozen=True, slots=True)
class FederationSettings:
    """How the controllers behave. The defaults never remove what runs without a successor."""

    #: Namespace of the federation on the host and in the members.
    namespace: str = names.SYSTEM_NAMESPACE
    #: Whether an object without a feasible cluster, without a policy label or with failing
    #: webhooks keeps its last placement. KubeAdmiral deletes it everywhere.
    keeps_last_placement: bool = True
    #: Seconds between a change in a member and the comparison with what it should be.
    drift_delay: float = 5.0
    #: Seconds between a change of a member's status and its aggregation.
    status_delay: float = 3.0
    #: Seconds between attempts to finish a deletion.
    deletion_retry: float = 5.0
    #: Seconds between health checks of a member.
    health_period: float = 30.0
    #: Seconds of equal observations before a member counts as ready or offline.
    health_threshold: float = 100.0
    #: Seconds after which an attempt to join is given up.
    join_timeout: float = 600.0


KUBEADMIRAL = FederationSettings(keeps_last_placement=False)
"""The behaviour of KubeAdmiral, for comparisons."""
