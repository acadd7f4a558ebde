"""The variable ``authorizer``: the rights of the user of a request."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

from stretto.api.checks.fields.texts import dns_label, dns_subdomain
from stretto.cel.language.types import CelType, struct
from stretto.cel.running.values import CelOpaque, EvaluationError

Access = Callable[[Mapping[str, str], str], tuple[bool, str]]
"""Returns for (attributes, verb) whether the access is allowed, and the reason."""
_ACCESS: Final[ContextVar[Access]] = ContextVar("access")
_GROUP: Final = "kubernetes.authorization"
AUTHORIZER: Final = struct(f"{_GROUP}.Authorizer")
"""Type of the variable ``authorizer``."""
RESOURCE_CHECK: Final = struct(f"{_GROUP}.ResourceCheck")
"""Type of the variable ``authorizer.requestResource``."""
_PATH: Final = struct(f"{_GROUP}.PathCheck")
_GROUP_CHECK: Final = struct(f"{_GROUP}.GroupCheck")
_DECISION: Final = struct(f"{_GROUP}.Decision")


@dataclass(frozen=True)
class RightsValue(CelOpaque):
    """An authorizer, or a check with some of its attributes."""

    kind: CelType = AUTHORIZER
    #: Attributes of the check.
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class DecisionValue(CelOpaque):
    """The result of a check."""

    #: True if the access is allowed.
    allowed: bool
    #: The reason.
    reason: str
    kind: CelType = _DECISION


@contextmanager
def access_by(access: Access) -> Iterator[None]:
    """Answer checks with a function while expressions are evaluated."""
    token = _ACCESS.set(access)
    try:
        yield
    finally:
        _ACCESS.reset(token)


def _with(name: str, kind: CelType, *, is_required: bool = False) -> Callable[..., RightsValue]:
    """Return the function that adds an attribute to a check."""

    def added(check: RightsValue, value: str) -> RightsValue:
        if is_required and not value.strip():
            raise EvaluationError(f"{name} must not be empty")
        return RightsValue(kind, {**check.attributes, name: value})

    return added


def _account(check: RightsValue, namespace: str, name: str) -> RightsValue:
    if dns_subdomain(name):
        raise EvaluationError("Invalid service account name")
    if dns_label(namespace):
        raise EvaluationError("Invalid service account namespace")
    account = f"system:serviceaccount:{namespace}:{name}"
    return RightsValue(AUTHORIZER, {**check.attributes, "account": account})


def _check(check: RightsValue, verb: str) -> DecisionValue:
    return DecisionValue(*_ACCESS.get()(check.attributes, verb))


RIGHTS: Final[Mapping[str, Any]] = {
    "path": _with("path", _PATH, is_required=True),
    "group": _with("group", _GROUP_CHECK),
    "resource": _with("resource", RESOURCE_CHECK, is_required=True),
    **{
        name: _with(name, RESOURCE_CHECK)
        for name in ("subresource", "namespace", "name", "fieldSelector", "labelSelector")
    },
    "serviceAccount": _account,
    "check": _check,
    "allowed": lambda decision: decision.allowed,
    "reason": lambda decision: decision.reason,
    "errored": lambda _: False,
    "error": lambda _: "",
}
"""Functions of rights by name."""
