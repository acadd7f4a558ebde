"""The fields of a pod's spec; a scenario with misspelled fields is refused.

Fields that scheduling reads are checked completely. All other fields are checked at the top level
only.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from stretto.api.types.pod import Affinity, SchedulingGate, Toleration, TopologySpreadConstraint
from stretto.inputs.neutral.strict import UnknownKeyError, strict

POD_SPEC_FIELDS: Final = (
    "activeDeadlineSeconds", "affinity", "automountServiceAccountToken", "containers", "dnsConfig",
    "dnsPolicy", "enableServiceLinks", "ephemeralContainers", "hostAliases", "hostIPC",
    "hostNetwork", "hostPID", "hostUsers", "hostname", "hostnameOverride", "imagePullSecrets",
    "initContainers", "nodeName", "nodeSelector", "os", "overhead", "preemptionPolicy", "priority",
    "priorityClassName", "readinessGates", "resourceClaims", "resources", "restartPolicy",
    "runtimeClassName", "schedulerName", "schedulingGates", "schedulingGroup", "securityContext",
    "serviceAccount", "serviceAccountName", "setHostnameAsFQDN", "shareProcessNamespace",
    "subdomain", "terminationGracePeriodSeconds", "tolerations", "topologySpreadConstraints",
    "volumes", "workloadRef",
)  # fmt: skip
"""The fields of a PodSpec in Kubernetes 1.36."""
_CHECKED: Final[Mapping[str, type[msgspec.Struct]]] = {
    "affinity": Affinity,
    "tolerations": Toleration,
    "topologySpreadConstraints": TopologySpreadConstraint,
    "schedulingGates": SchedulingGate,
}
"""Fields that are checked completely; for a list, each entry."""


def check_spec(spec: Mapping[str, Any], where: str) -> None:
    """Refuse unknown fields of a pod's spec.

    Raises:
        InputError: a field is unknown (the nearest is suggested), or its value has another type.
    """
    for key, value in spec.items():
        if key not in POD_SPEC_FIELDS:
            raise UnknownKeyError(f"{where}.{key}", str(key), POD_SPEC_FIELDS)
        kind = _CHECKED.get(key)
        if kind is None or value is None:
            continue
        items = value if isinstance(value, list) else [value]
        for index, item in enumerate(items):
            place = f"{where}.{key}" + (f"[{index}]" if isinstance(value, list) else "")
            strict(kind, item, place)
