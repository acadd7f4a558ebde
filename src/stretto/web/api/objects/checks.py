"""The rules of the kind of an object: fields, schemas, expressions."""

from typing import Any

from stretto.api.checks.fields.errors import Errors
from stretto.api.checks.kinds.pods.security import PRIVILEGED
from stretto.api.checks.kinds.table import check_kind
from stretto.api.checks.kinds.warnings import warnings_of
from stretto.web.api.call import Call
from stretto.web.api.cel.checks import expression_errors
from stretto.web.api.crds.objects import check_custom
from stretto.web.api.state import ApiState

Json = dict[str, Any]


def kind_errors(state: ApiState, call: Call, item: Json, old: Json | None) -> Errors:
    """The refused fields of a kind of Kubernetes or of a custom one."""
    if call.resource.definition is not None:
        return check_custom(call.resource, item, old, call.route.subresource)
    errors = check_kind(call.resource.key, item, old, call.route.subresource)
    if state.allows_privileged:
        errors = [each for each in errors if not each.message.endswith(PRIVILEGED)]
    if not call.route.subresource:
        errors += expression_errors(call.resource.key, item, old)
    if not errors and not call.route.subresource:
        call.warnings += warnings_of(call.resource.key, item, old)
    return errors
