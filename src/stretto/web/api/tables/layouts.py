"""The columns of every kind of Kubernetes, as compact text.

A column is ``Name``, ``Name:type``, or ``Name+1`` for the wide view; all but ``Name`` are separated
by commas. The type ``Name`` is a string with the name of an object.
"""

from typing import Final

_CORE: Final = {
    "ComponentStatus": "Status, Message, Error",
    "ConfigMap": "Data, Age",
    "Endpoints": "Endpoints, Age",
    "Event": (
        "Last Seen, Type, Reason, Object, Subobject+1, Source+1, Message, First Seen+1, Count+1, "
        "Name+1"
    ),
    "LimitRange": "Created At:date",
    "Namespace": "Status, Age",
    "Node": (
        "Status, Roles, Age, Version, Internal-IP+1, External-IP+1, OS-Image+1, Kernel-Version+1, "
        "Container-Runtime+1"
    ),
    "PersistentVolumeClaim": (
        "Status, Volume, Capacity, Access Modes, StorageClass, VolumeAttributesClass, Age, "
        "VolumeMode+1"
    ),
    "PersistentVolume": (
        "Capacity, Access Modes, Reclaim Policy, Status, Claim, StorageClass, "
        "VolumeAttributesClass, Reason, Age, VolumeMode+1"
    ),
    "Pod": "Ready, Status, Restarts, Age, IP+1, Node+1, Nominated Node+1, Readiness Gates+1",
    "PodTemplate": "Containers, Images, Pod Labels",
    "ReplicationController": (
        "Desired:integer, Current:integer, Ready:integer, Age, Containers+1, Images+1, Selector+1"
    ),
    "ResourceQuota": "Request, Limit, Age",
    "Secret": "Type, Data, Age",
    "ServiceAccount": "Age",
    "Service": "Type, Cluster-IP, External-IP, Port(s), Age, Selector+1",
}
_APPS: Final = {
    "ControllerRevision": "Controller, Revision, Age",
    "DaemonSet": (
        "Desired:integer, Current:integer, Ready:integer, Up-to-date:integer, "
        "Available:integer, Node Selector, Age, Containers+1, Images+1, Selector+1"
    ),
    "Deployment": "Ready, Up-to-date, Available, Age, Containers+1, Images+1, Selector+1",
    "ReplicaSet": (
        "Desired:integer, Current:integer, Ready:integer, Age, Containers+1, Images+1, Selector+1"
    ),
    "StatefulSet": "Ready, Age, Containers+1, Images+1",
}
_BATCH: Final = {
    "CronJob": (
        "Schedule, Timezone, Suspend:boolean, Active:integer, Last Schedule, Age, Containers+1, "
        "Images+1, Selector+1"
    ),
    "Job": "Status, Completions, Duration, Age, Containers+1, Images+1, Selector+1",
}
_OTHERS: Final = {
    ("apiregistration.k8s.io", "APIService"): "Service, Available, Age",
    ("events.k8s.io", "Event"): _CORE["Event"],
    ("autoscaling", "HorizontalPodAutoscaler"): (
        "Reference, Targets, MinPods, MaxPods, Replicas, Age"
    ),
    ("autoscaling", "Scale"): "Desired:integer, Available:integer, Age",
    ("certificates.k8s.io", "CertificateSigningRequest"): (
        "Age, SignerName, Requestor, RequestedDuration, Condition"
    ),
    ("metrics.k8s.io", "NodeMetrics"): "CPU, Memory, Window",
    ("metrics.k8s.io", "PodMetrics"): "CPU, Memory, Window",
    ("networking.k8s.io", "IngressClass"): "Controller, Parameters, Age",
    ("networking.k8s.io", "Ingress"): "Class, Hosts, Address, Ports, Age",
    ("networking.k8s.io", "IPAddress"): "ParentRef",
    ("networking.k8s.io", "NetworkPolicy"): "Pod-Selector, Age",
    ("networking.k8s.io", "ServiceCIDR"): "CIDRs, Age",
    ("policy", "PodDisruptionBudget"): (
        "Min Available, Max Unavailable, Allowed Disruptions:integer, Age"
    ),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): (
        "Role, Age, Users+1, Groups+1, ServiceAccounts+1"
    ),
    ("rbac.authorization.k8s.io", "RoleBinding"): (
        "Role, Age, Users+1, Groups+1, ServiceAccounts+1"
    ),
    ("storage.k8s.io", "CSIDriver"): (
        "AttachRequired:boolean, PodInfoOnMount:boolean, StorageCapacity:boolean, TokenRequests, "
        "RequiresRepublish:boolean, Modes, Age"
    ),
    ("storage.k8s.io", "CSINode"): "Drivers:integer, Age",
    ("storage.k8s.io", "StorageClass"): (
        "Provisioner, ReclaimPolicy, VolumeBindingMode, AllowVolumeExpansion, Age"
    ),
    ("storage.k8s.io", "VolumeAttachment"): "Attacher:Name, PV, Node, Attached:boolean, Age",
    ("storage.k8s.io", "VolumeAttributesClass"): "DriverName, Age",
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): (
        "Mutations:integer, ParamKind, Age"
    ),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): (
        "PolicyName, ParamRef, Age"
    ),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): "Webhooks:integer, Age",
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): (
        "Validations:integer, ParamKind, Age"
    ),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): (
        "PolicyName, ParamRef, Age"
    ),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): "Webhooks:integer, Age",
    ("scheduling.k8s.io", "PriorityClass"): (
        "Value:integer, Global-Default:boolean, Age, PreemptionPolicy"
    ),
    ("coordination.k8s.io", "Lease"): "Holder, Age",
    ("node.k8s.io", "RuntimeClass"): "Handler, Age",
    ("discovery.k8s.io", "EndpointSlice"): "AddressType, Ports, Endpoints, Age",
    ("resource.k8s.io", "DeviceClass"): "Age",
    ("resource.k8s.io", "ResourceClaim"): "State, Age",
    ("resource.k8s.io", "ResourceClaimTemplate"): "Age",
    ("resource.k8s.io", "ResourceSlice"): "Node, Driver, Pool, Age",
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): (
        "PriorityLevel, MatchingPrecedence, DistinguisherMethod, Age, MissingPL"
    ),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): (
        "Type, NominalConcurrencyShares, Queues, HandSize, QueueLengthLimit, Age"
    ),
}

LAYOUTS: Final[dict[tuple[str, str], str]] = {
    **{("", kind): text for kind, text in _CORE.items()},
    **{("apps", kind): text for kind, text in _APPS.items()},
    **{("batch", kind): text for kind, text in _BATCH.items()},
    **_OTHERS,
}
"""Columns by group and kind."""
