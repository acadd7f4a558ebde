"""CEL expressions of policies and match conditions about a write."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from stretto.api.wire.kinds import Kind
from stretto.cel.functions.rights import RESOURCE_CHECK, RightsValue, access_by
from stretto.cel.programs import CelError, evaluate
from stretto.cel.running.budget import OBJECT_EXCEEDED, OBJECT_LIMIT, Budget
from stretto.cel.running.work import Work
from stretto.web.api.authn.users import User
from stretto.web.api.authz.rules import AccessRequest, access_of
from stretto.web.api.cel.variables import WRITE
from stretto.web.api.configured.attributes import WriteAttributes
from stretto.web.api.configured.conversion import in_version
from stretto.web.api.state import ApiState

Json = dict[str, Any]

_READS: Final = re.compile(r"\bvariables\s*\.\s*([A-Za-z_]\w*)")
_ABSENT: Final = re.compile(r"no such key: (\w+)")


class WriteExpressions:
    """Evaluator of expressions about one write."""

    def __init__(
        self,
        state: ApiState,
        attributes: WriteAttributes,
        params: Json | None = None,
        variables: Iterable[Json] = (),
        kind: Kind | None = None,
    ) -> None:
        """Evaluate expressions about a write.

        Args:
            state: the server, which contains the rights.
            attributes: the write.
            params: the parameter of a policy.
            variables: ``name`` and ``expression`` of further variables, which may read earlier
                ones. Only variables that an expression reads are evaluated.
            kind: the resource in whose version the objects are read; default: the resource of the
                request.
        """
        self._state = state
        self._user = attributes.admission.call.user
        self._declared = {each["name"]: each["expression"] for each in variables}
        self._known: Json = {}
        self._failed: dict[str, str] = {}
        self._spent = 0
        self._work = Work()
        matched = kind or attributes.admission.resource.kind
        shown = attributes.kind if attributes.admission.shown is not None else matched
        request = attributes.request(shown, matched)
        self._base: Json = {
            "object": in_version(state, attributes, attributes.item, matched),
            "oldObject": in_version(state, attributes, attributes.old, matched),
            "request": request,
            "params": params,
            "namespaceObject": attributes.namespace_object,
            "authorizer": RightsValue(),
            "authorizer.requestResource": RightsValue(RESOURCE_CHECK, _checked(attributes)),
        }

    def value(self, text: str) -> Any:
        """Evaluate an expression.

        Raises:
            CelError: the evaluation fails; the message contains the expression.
        """
        try:
            return self._evaluated(text)
        except CelError as error:
            raise CelError(f"expression '{text}' resulted in error: {error}") from error

    def _evaluated(self, text: str) -> Any:
        for name in _READS.findall(text):
            self._settle(name)
        data = {**self._base, "variables": self._known}
        budget = Budget(work=self._work)
        try:
            with access_by(self._access):
                return evaluate(text, WRITE, data, budget)
        except CelError as error:
            absent = _ABSENT.fullmatch(str(error))
            if absent is not None and absent[1] in self._failed:
                raise CelError(self._failed[absent[1]]) from error
            raise
        finally:
            self._count(budget.spent)

    def _count(self, cost: int) -> None:
        """Add the cost of an expression.

        Raises:
            CelError: the expressions about the write cost too much together.
        """
        self._spent += cost
        if self._spent > OBJECT_LIMIT:
            raise CelError(OBJECT_EXCEEDED)

    def _settle(self, name: str) -> None:
        """Evaluate a variable once; a variable that fails stays absent."""
        if name in self._known or name in self._failed or name not in self._declared:
            return
        self._failed[name] = f'composited variable "{name}" reads itself'
        try:
            self._known[name] = self._evaluated(self._declared[name])
            del self._failed[name]
        except CelError as error:
            self._failed[name] = f'composited variable "{name}" fails to evaluate: {error}'

    def _access(self, check: Mapping[str, str], verb: str) -> tuple[bool, str]:
        user = User(check["account"]) if "account" in check else self._user
        words = ("group", "resource", "subresource", "namespace", "name", "path")
        wanted = AccessRequest(verb, **{word: str(check.get(word, "")) for word in words})
        found = access_of(self._state.storage, user, wanted)
        return found.allowed, found.reason


def _checked(attributes: WriteAttributes) -> Mapping[str, str]:
    """The resource of a request, as ``authorizer.requestResource`` checks it."""
    kind = attributes.admission.resource.kind
    return {
        "group": kind.group,
        "resource": kind.plural,
        "subresource": attributes.admission.subresource,
        "namespace": attributes.namespace,
        "name": attributes.name,
    }


def unmet_condition(expressions: WriteExpressions, conditions: Iterable[Json]) -> tuple[bool, str]:
    """Return whether a match condition is false, and otherwise the failure of one.

    A false condition takes precedence over failures of others.
    """
    problems = []
    for each in conditions:
        try:
            if expressions.value(each["expression"]) is not True:
                return True, ""
        except CelError as error:
            problems.append(str(error))
    joined = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
    return False, joined if problems else ""
