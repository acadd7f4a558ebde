"""The kinds that the API server of a member serves: those of Kubernetes 1.36, and its CRDs."""

from collections.abc import Iterator
from typing import Final

import msgspec

from stretto.api.kinds.crds import entry_of_crd
from stretto.api.wire.kinds import CUSTOM_RESOURCE_DEFINITION, Kind
from stretto.base.errors import InputError
from stretto.stores.render import render
from stretto.stores.store import Store

_TEXT: Final = """
- v1 Binding bindings
- v1 ComponentStatus componentstatuses *
- v1 ConfigMap configmaps
- v1 Endpoints endpoints
- v1 Event events
- v1 LimitRange limitranges
- v1 Namespace namespaces *
- v1 Node nodes *
- v1 PersistentVolume persistentvolumes *
- v1 PersistentVolumeClaim persistentvolumeclaims
- v1 Pod pods
- v1 PodTemplate podtemplates
- v1 ReplicationController replicationcontrollers
- v1 ResourceQuota resourcequotas
- v1 Secret secrets
- v1 Service services
- v1 ServiceAccount serviceaccounts
admissionregistration.k8s.io v1 MutatingAdmissionPolicy mutatingadmissionpolicies *
admissionregistration.k8s.io v1 MutatingAdmissionPolicyBinding mutatingadmissionpolicybindings *
admissionregistration.k8s.io v1 MutatingWebhookConfiguration mutatingwebhookconfigurations *
admissionregistration.k8s.io v1 ValidatingAdmissionPolicy validatingadmissionpolicies *
admissionregistration.k8s.io v1 ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings *
admissionregistration.k8s.io v1 ValidatingWebhookConfiguration validatingwebhookconfigurations *
apiextensions.k8s.io v1 CustomResourceDefinition customresourcedefinitions *
apiregistration.k8s.io v1 APIService apiservices *
apps v1 ControllerRevision controllerrevisions
apps v1 DaemonSet daemonsets
apps v1 Deployment deployments
apps v1 ReplicaSet replicasets
apps v1 StatefulSet statefulsets
authentication.k8s.io v1 SelfSubjectReview selfsubjectreviews *
authentication.k8s.io v1 TokenReview tokenreviews *
authorization.k8s.io v1 LocalSubjectAccessReview localsubjectaccessreviews
authorization.k8s.io v1 SelfSubjectAccessReview selfsubjectaccessreviews *
authorization.k8s.io v1 SelfSubjectRulesReview selfsubjectrulesreviews *
authorization.k8s.io v1 SubjectAccessReview subjectaccessreviews *
autoscaling v1 HorizontalPodAutoscaler horizontalpodautoscalers
autoscaling v2 HorizontalPodAutoscaler horizontalpodautoscalers
batch v1 CronJob cronjobs
batch v1 Job jobs
certificates.k8s.io v1 CertificateSigningRequest certificatesigningrequests *
coordination.k8s.io v1 Lease leases
discovery.k8s.io v1 EndpointSlice endpointslices
events.k8s.io v1 Event events
flowcontrol.apiserver.k8s.io v1 FlowSchema flowschemas *
flowcontrol.apiserver.k8s.io v1 PriorityLevelConfiguration prioritylevelconfigurations *
networking.k8s.io v1 IPAddress ipaddresses *
networking.k8s.io v1 Ingress ingresses
networking.k8s.io v1 IngressClass ingressclasses *
networking.k8s.io v1 NetworkPolicy networkpolicies
networking.k8s.io v1 ServiceCIDR servicecidrs *
node.k8s.io v1 RuntimeClass runtimeclasses *
policy v1 PodDisruptionBudget poddisruptionbudgets
rbac.authorization.k8s.io v1 ClusterRole clusterroles *
rbac.authorization.k8s.io v1 ClusterRoleBinding clusterrolebindings *
rbac.authorization.k8s.io v1 Role roles
rbac.authorization.k8s.io v1 RoleBinding rolebindings
resource.k8s.io v1 DeviceClass deviceclasses *
resource.k8s.io v1 ResourceClaim resourceclaims
resource.k8s.io v1 ResourceClaimTemplate resourceclaimtemplates
resource.k8s.io v1 ResourceSlice resourceslices *
scheduling.k8s.io v1 PriorityClass priorityclasses *
storage.k8s.io v1 CSIDriver csidrivers *
storage.k8s.io v1 CSINode csinodes *
storage.k8s.io v1 CSIStorageCapacity csistoragecapacities
storage.k8s.io v1 StorageClass storageclasses *
storage.k8s.io v1 VolumeAttachment volumeattachments *
storage.k8s.io v1 VolumeAttributesClass volumeattributesclasses *
"""
"""Group (``-`` for the core group), version, kind, plural, and a star for cluster scope."""


def _kind(line: str) -> Kind:
    group, version, name, plural, *scope = line.split()
    group = "" if group == "-" else group
    return Kind(group, version, name, plural, namespaced=not scope)


BUILTIN: Final = tuple(map(_kind, _TEXT.strip().splitlines()))
"""The kinds that need no CRD."""


_ALWAYS: Final = frozenset(BUILTIN)


def serves(store: Store, more: tuple[Kind, ...], kind: Kind) -> bool:
    """True if a server with further kinds and the CRDs of a store serves a kind now."""
    return kind in _ALWAYS or kind in more or kind in served_kinds(store)


def served_kinds(store: Store) -> Iterator[Kind]:
    """The kinds that a server with the CRDs of a store serves at present."""
    yield from BUILTIN
    for record in store.list(CUSTOM_RESOURCE_DEFINITION).records:
        if not record.deleting:
            try:
                yield entry_of_crd(msgspec.json.decode(render(record))).kind
            except InputError:
                continue  # a server serves nothing for a malformed definition
