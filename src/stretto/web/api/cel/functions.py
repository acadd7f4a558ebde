"""Declarations of CEL functions that are implemented in Python."""

from collections.abc import Callable, Iterable
from typing import Any

from cel_expr_python import cel

Implementation = Callable[..., Any]
"""The implementation of a function; it receives plain values."""


def free_function(name: str, result: Any, impl: Implementation, *forms: Iterable[Any]) -> Any:
    """Declare a function without a receiver.

    Args:
        name: the name.
        result: type of the result.
        impl: the implementation of all forms.
        forms: types of the arguments, for each form.
    """
    return _declared(name, result, impl, forms, is_member=False)


def member_function(name: str, result: Any, impl: Implementation, *forms: Iterable[Any]) -> Any:
    """Declare a function with a receiver, which is the first argument of each form.

    Args:
        name: the name.
        result: type of the result.
        impl: the implementation of all forms.
        forms: types of the receiver and of the arguments, for each form.
    """
    return _declared(name, result, impl, forms, is_member=True)


def _declared(
    name: str, result: Any, impl: Implementation, forms: Iterable[Iterable[Any]], *, is_member: bool
) -> Any:
    overloads = [
        cel.Overload(f"{name}_{number}", result, list(kinds), is_member, impl)
        for number, kinds in enumerate(forms)
    ]
    return cel.FunctionDecl(name, overloads)
