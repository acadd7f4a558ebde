"""The admission plugins of the server, in the order of kube-apiserver."""

from typing import Final

from stretto.web.api.admission.accounts import admit_account
from stretto.web.api.admission.namespaces import keep_namespace, namespace_exists
from stretto.web.api.admission.objects import (
    change_claim,
    check_class,
    check_limits,
    default_ingress_class,
    keep_system_classes,
    protect,
    taint_node,
)
from stretto.web.api.admission.pods import change_pod, check_pod
from stretto.web.api.admission.quotas import charge_quotas
from stretto.web.api.admission.security import secure_pods
from stretto.web.api.admission.use import check_use
from stretto.web.api.configured.mutations import mutate_by_policies
from stretto.web.api.configured.policies import validate_by_policies
from stretto.web.api.configured.webhooks import mutate_by_webhooks, validate_by_webhooks
from stretto.web.api.crds.conversion.writes import convert_write
from stretto.web.api.state import Admit

MUTATING: Final[tuple[Admit, ...]] = (
    namespace_exists,
    keep_namespace,
    keep_system_classes,
    change_pod,
    change_claim,
    default_ingress_class,
    protect,
    taint_node,
)
"""Mutating plugins."""
VALIDATING: Final[tuple[Admit, ...]] = (
    check_limits,
    secure_pods,
    check_pod,
    check_class,
    check_use,
)
"""Validating plugins."""
CHANGING: Final[tuple[Admit, ...]] = (mutate_by_policies, mutate_by_webhooks)
"""Mutating admission configured by objects of the cluster, after all other mutating plugins."""
CONFIGURED: Final[tuple[Admit, ...]] = (validate_by_policies, validate_by_webhooks)
"""Validating admission configured by objects of the cluster, after all other validating plugins."""
CHARGING: Final[tuple[Admit, ...]] = (convert_write, charge_quotas)
"""Admission after all plugins that may refuse; the first write is that of a quota."""
ACCOUNTS: Final[tuple[Admit, ...]] = (admit_account,)
"""Admission of ServiceAccounts, if pods need one, after the mutating plugins."""
