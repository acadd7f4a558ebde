"""The CEL variable ``authorizer``: the rights of the user of a request.

Its value is a map that collects the attributes of the check; ``check`` calls the function of the
evaluation.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from cel_expr_python import cel

from stretto.web.api.cel.functions import member_function

Json = dict[str, Any]

AUTHORIZER: Final = "authorizer"
"""Name of the variable."""
Access = Callable[[Json, str], tuple[bool, str]]
"""Returns for (attributes, verb) whether the access is allowed, and the reason."""
_ACCESS: Final[ContextVar[Access]] = ContextVar("access")

_MAP: Final = cel.Type.MAP
_TEXT: Final = cel.Type.STRING


@contextmanager
def access_by(access: Access) -> Iterator[None]:
    """Answer checks with a function while expressions are evaluated."""
    token = _ACCESS.set(access)
    try:
        yield
    finally:
        _ACCESS.reset(token)


def _collects(name: str) -> Callable[[Any, Any], Json]:
    return lambda check, value: {**dict(check), name: value}


def _account(check: Any, namespace: Any, name: Any) -> Json:
    return {**dict(check), "account": f"system:serviceaccount:{namespace}:{name}"}


def _check(check: Any, verb: Any) -> Json:
    allowed, reason = _ACCESS.get()(dict(check), str(verb))
    return {"allowed": allowed, "reason": reason}


def authorizer_functions() -> list[Any]:
    """The functions of the variable as declarations of an environment."""
    found = [
        member_function(name, cel.Type.DYN, _collects(name), (_MAP, _TEXT))
        for name in ("path", "group", "resource", "subresource", "namespace", "name")
    ]
    decision = (_MAP,)
    return [
        *found,
        member_function("serviceAccount", cel.Type.DYN, _account, (_MAP, _TEXT, _TEXT)),
        member_function("check", cel.Type.DYN, _check, (_MAP, _TEXT)),
        member_function("allowed", cel.Type.BOOL, lambda each: each["allowed"], decision),
        member_function("reason", _TEXT, lambda each: each["reason"], decision),
        member_function("errored", cel.Type.BOOL, lambda _: False, decision),
        member_function("error", _TEXT, lambda _: "", decision),
    ]
