"""Defaults of rights, storage, network policies, priorities and flow control."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from stretto.api.admission.defaulting.pod import default, fill

Json = dict[str, Any]

_RBAC: Final = "rbac.authorization.k8s.io"


def _role_ref(ref: Json) -> None:
    fill(ref, apiGroup=_RBAC)


def _subject(subject: Json) -> None:
    if subject.get("kind") in ("User", "Group"):
        default(subject, apiGroup=_RBAC)


def _storage_class(item: Json) -> None:
    default(item, reclaimPolicy="Delete", volumeBindingMode="Immediate")


def _csi_driver(spec: Json) -> None:
    default(
        spec,
        attachRequired=True,
        podInfoOnMount=False,
        storageCapacity=False,
        fsGroupPolicy="ReadWriteOnceWithFSType",
        requiresRepublish=False,
        seLinuxMount=False,
    )
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


def _network_policy(item: Json) -> None:
    spec = item.setdefault("spec", {})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", *(["Egress"] if spec.get("egress") else [])]


def _network_port(port: Json) -> None:
    default(port, protocol="TCP")


def _ingress_class(spec: Json) -> None:
    parameters = spec.get("parameters")
    if parameters:
        default(parameters, scope="Cluster")


def _priority_class(item: Json) -> None:
    default(item, preemptionPolicy="PreemptLowerPriority")


def _slice_port(port: Json) -> None:
    port.setdefault("name", "")
    default(port, protocol="TCP")


def _flow_schema(spec: Json) -> None:
    if not spec.get("matchingPrecedence"):
        spec["matchingPrecedence"] = 1000


def _limited(limited: Json) -> None:
    default(limited, nominalConcurrencyShares=30, lendablePercent=0)
    response = limited.setdefault("limitResponse", {})
    if response.get("type") == "Queue" and response.get("queuing") is not None:
        for name, value in (("queues", 64), ("handSize", 8), ("queueLengthLimit", 50)):
            if not response["queuing"].get(name):
                response["queuing"][name] = value


def _exempt(spec: Json) -> None:
    if spec.get("type") == "Exempt":
        exempt = spec.setdefault("exempt", {})
        default(exempt, nominalConcurrencyShares=0, lendablePercent=0)


def _exact(exact: Json) -> None:
    default(exact, allocationMode="ExactCount")
    if exact["allocationMode"] == "ExactCount" and not exact.get("count"):
        exact["count"] = 1


CLUSTER: Final[Mapping[str, Callable[[Json], None]]] = {
    "rbac/v1.RoleRef": _role_ref,
    "rbac/v1.Subject": _subject,
    "storage/v1.StorageClass": _storage_class,
    "storage/v1.CSIDriverSpec": _csi_driver,
    "networking/v1.NetworkPolicy": _network_policy,
    "networking/v1.NetworkPolicyPort": _network_port,
    "networking/v1.IngressClassSpec": _ingress_class,
    "scheduling/v1.PriorityClass": _priority_class,
    "discovery/v1.EndpointPort": _slice_port,
    "flowcontrol/v1.FlowSchemaSpec": _flow_schema,
    "flowcontrol/v1.LimitedPriorityLevelConfiguration": _limited,
    "flowcontrol/v1.PriorityLevelConfigurationSpec": _exempt,
    "resource/v1.ExactDeviceRequest": _exact,
    "resource/v1.DeviceSubRequest": _exact,
}
"""Defaults by struct."""
