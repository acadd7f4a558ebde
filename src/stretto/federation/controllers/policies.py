"""The propagation policy of a federated object."""

from typing import Final, NamedTuple

from stretto.api.kinds.federation import (
    CLUSTER_PROPAGATION_POLICY,
    PROPAGATION_POLICY,
    SCHEDULING_PROFILE,
)
from stretto.api.types.federation.objects import SchedulingProfile
from stretto.api.types.federation.policies import PropagationPolicy, PropagationPolicySpec
from stretto.federation import names
from stretto.federation.fleet import ClusterFleet
from stretto.federation.scheduling.kubeadmiral import DEFAULT, ClusterProfile
from stretto.federation.scheduling.profiles import profile_of
from stretto.reconcile.cache import StoredObject
from stretto.reconcile.reconciler import RetryError

POLICY_LABELS: Final = {
    PROPAGATION_POLICY.kind.kind: names.POLICY,
    CLUSTER_PROPAGATION_POLICY.kind.kind: names.CLUSTER_POLICY,
}
"""Kinds of policies and the labels that name them; the first one found counts."""


class AppliedPolicy(NamedTuple):
    """The policy of an object."""

    #: Its name; empty without one.
    name: str = ""
    #: Its content; ``None`` without one.
    spec: PropagationPolicySpec | None = None
    #: The plugins of its profile.
    profile: ClusterProfile = DEFAULT


class PolicyFinder:
    """Finds the policies of federated objects."""

    def __init__(self, fleet: ClusterFleet) -> None:
        """For the federated objects of a fleet."""
        self._policies = {
            names.POLICY: fleet.host.follow(PROPAGATION_POLICY.kind),
            names.CLUSTER_POLICY: fleet.host.follow(CLUSTER_PROPAGATION_POLICY.kind),
        }
        self._profiles = fleet.host.follow(SCHEDULING_PROFILE.kind)

    def policy_of(self, federated: StoredObject) -> AppliedPolicy:
        """The policy that the labels of an object name.

        Raises:
            RetryError: it does not exist; the object keeps its placement.
        """
        for label, cache in self._policies.items():
            namespace = federated.record.namespace if label == names.POLICY else ""
            name = federated.labels.get(label)
            if name is None or (label == names.POLICY and not namespace):
                continue
            found = cache.get(namespace, name)
            if found is None:
                hint = f"create it or change the label {label}"
                raise RetryError(f"policy {name} does not exist: {hint}")
            spec = found.read(PropagationPolicy).spec
            return AppliedPolicy(name, spec, self._profile(spec.scheduling_profile))
        return AppliedPolicy()

    def _profile(self, name: str) -> ClusterProfile:
        """The plugins of a profile; those of the default for an empty name.

        Raises:
            RetryError: the profile does not exist.
            UnknownNameError: one of its plugins is unknown.
        """
        if not name:
            return DEFAULT
        found = self._profiles.get("", name)
        if found is None:
            hint = "create it or change schedulingProfile of the policy"
            raise RetryError(f"scheduling profile {name} does not exist: {hint}")
        return profile_of(found.read(SchedulingProfile).spec)
