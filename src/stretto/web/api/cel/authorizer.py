"""The CEL variable ``authorizer``: the rights of the user of a request.

Its value is a map that collects the attributes of the check; ``check`` calls the function of the
evaluation.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from cel_expr_python import cel

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
        _member(name, cel.Type.DYN, [_MAP, _TEXT], _collects(name))
        for name in ("path", "group", "resource", "subresource", "namespace", "name")
    ]
    return [
        *found,
        _member("serviceAccount", cel.Type.DYN, [_MAP, _TEXT, _TEXT], _account),
        _member("check", cel.Type.DYN, [_MAP, _TEXT], _check),
        _member("allowed", cel.Type.BOOL, [_MAP], lambda decision: decision["allowed"]),
        _member("reason", _TEXT, [_MAP], lambda decision: decision["reason"]),
        _member("errored", cel.Type.BOOL, [_MAP], lambda _: False),
        _member("error", _TEXT, [_MAP], lambda _: ""),
    ]


def _member(name: str, result: Any, kinds: list[Any], impl: Callable[..., Any]) -> Any:
    overload = cel.Overload(f"authorizer_{name}", result, kinds, True, impl)
    return cel.FunctionDecl(name, [overload])
