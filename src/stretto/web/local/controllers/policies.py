"""The status of ValidatingAdmissionPolicies: the results of type checks."""

from collections.abc import Hashable, Iterable
from typing import Any, Final

from stretto.api.wire.kinds import Kind
from stretto.reconcile.cache import Change, Fields
from stretto.web.api.cel.warnings import MatchedKind, type_warnings
from stretto.web.api.state import ApiState
from stretto.workloads.cluster import LocalCluster

_POLICY: Final = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
    namespaced=False,
)
_MOST_KINDS: Final = 10
"""Maximum number of kinds that a policy is checked against, as in Kubernetes."""


class PolicyStatusController:
    """Controller that checks the types of the expressions of policies."""

    def __init__(self, cluster: LocalCluster, state: ApiState) -> None:
        """Control the policies of a cluster.

        Args:
            cluster: reports changed policies.
            state: the server, whose kinds the policies match.
        """
        #: Name in logs and messages.
        self.name = f"{cluster.name}/policies"
        self._cluster = cluster
        self._state = state
        cluster.objects(_POLICY)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The changed policy."""
        if change.source == self._cluster.name and change.kind == _POLICY:
            yield change.object.name

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Check one policy once for each generation.

        Raises:
            RetryError: the store refused the status.
        """
        item = self._cluster.objects(_POLICY).active(key)
        if item is None:
            return None
        generation = int(item.metadata.get("generation") or 1)
        if int(item.status.get("observedGeneration") or 0) < generation:
            found = type_warnings(item.fields, self._matched(item.spec))
            status = {"expressionWarnings": found or None}
            checked = {"observedGeneration": generation, "typeChecking": status}
            self._cluster.set_status(item, checked)
        return None

    def _matched(self, spec: Fields) -> list[MatchedKind]:
        """The first kinds that the rules of a policy name; wildcards name none."""
        rules = (spec.get("matchConstraints") or {}).get("resourceRules") or ()
        named = [_NamedResources(rule) for rule in rules]
        found = [
            each
            for each in self._state.resources.all()
            if any(rule.names(each.kind) for rule in named)
        ]
        kinds = {each.kind: each for each in found}
        order = sorted(kinds, key=lambda kind: (kind.group, kind.version, kind.kind))
        return [MatchedKind(kind, kinds[kind].struct) for kind in order[:_MOST_KINDS]]


class _NamedResources:
    """The resources that a rule names one by one; a rule with a wildcard names none."""

    def __init__(self, rule: dict[str, Any]) -> None:
        parts = [set(rule.get(name) or ()) for name in ("apiGroups", "apiVersions", "resources")]
        self._groups, self._versions, self._resources = parts
        self._is_open = any("*" in part for part in parts)

    def names(self, kind: Kind) -> bool:
        """Return whether the rule names the resource of a kind."""
        return (
            not self._is_open
            and kind.group in self._groups
            and kind.version in self._versions
            and kind.plural in self._resources
        )
