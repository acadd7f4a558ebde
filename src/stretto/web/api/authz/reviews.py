"""Reviews of access and of tokens, which are answered and not stored."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from stretto.web.api.authn.accounts import ISSUER
from stretto.web.api.authn.users import MASTERS, User, user_info
from stretto.web.api.authz.access import access_of_other, local_access, own_access
from stretto.web.api.authz.rules import missing_roles, not_found_text, user_rules
from stretto.web.api.call import Call
from stretto.web.api.failures import bad_request
from stretto.web.api.message import ApiResponse
from stretto.web.api.objects.changes import shape
from stretto.web.api.objects.naming import sent_object
from stretto.web.api.objects.ownership import blank, own
from stretto.web.api.state import ApiState
from stretto.web.api.verbs.answers import answer

Json = dict[str, Any]


def review(state: ApiState, call: Call) -> ApiResponse:
    """Answer a review."""
    item = sent_object(call)
    item.setdefault("metadata", {})
    if call.resource.kind.kind == "SelfSubjectReview":
        item["metadata"] = {"creationTimestamp": state.now}
    elif call.resource.kind.kind == "SelfSubjectRulesReview":
        item["metadata"] = {}
    else:
        item.pop("status", None)
        own(state, call, blank(call), item)
    item["status"] = _REVIEWS[call.resource.key](state, call, item)
    return answer(state, call, shape(call, item), 201)


def _self(_state: ApiState, call: Call, _item: Json) -> Json:
    return {"userInfo": user_info(call.user)}


def _token(state: ApiState, _call: Call, item: Json) -> Json:
    spec = item.get("spec") or {}
    token = spec.get("token", "")
    if not token:
        raise bad_request("token is required for TokenReview in authentication")
    audiences, stated = spec.get("audiences") or [ISSUER], state.accounts.audiences(token)
    known = {ISSUER, *stated}
    for audience in dict.fromkeys(each for each in audiences if each in known):
        user = state.authenticate(token) if audience == ISSUER else _account(state, token, audience)
        if user is not None:
            return {"authenticated": True, "user": user_info(user), "audiences": [audience]}
    why = "invalid bearer token"
    if stated:
        lists = [" ".join(f'"{each}"' for each in names) for names in (stated, audiences)]
        why = (
            f"[{why}, token audiences [{lists[0]}] is invalid for the target audiences "
            f"[{lists[1]}]]"
        )
    return {"user": {}, "error": why}


def _account(state: ApiState, token: str, audience: str) -> User | None:
    """The account of a token for another audience than this server."""
    return state.accounts.user(token, state.clock.now(), state.storage.uid_of, audience)


def _rules(state: ApiState, call: Call, item: Json) -> Json:
    namespace = (item.get("spec") or {}).get("namespace", "")
    if not namespace:
        raise bad_request("no namespace on request")
    item["spec"] = {}
    resources: list[Json] = []
    paths: list[Json] = []
    rules = list(user_rules(state.storage, call.user, namespace))
    if MASTERS in call.user.groups and not rules:
        rules = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
    for rule in rules:
        if rule.get("nonResourceURLs"):
            paths.append({name: rule[name] for name in ("verbs", "nonResourceURLs")})
        else:
            names = ("verbs", "apiGroups", "resources", "resourceNames")
            resources.append({name: rule[name] for name in names if rule.get(name)})
    status: Json = {"resourceRules": resources, "nonResourceRules": paths, "incomplete": False}
    missing = not_found_text(map(str, missing_roles(state.storage, call.user, namespace)))
    return {**status, "evaluationError": missing} if missing else status


_AUTHN: Final = "authentication.k8s.io"
_AUTHZ: Final = "authorization.k8s.io"
_REVIEWS: Final[Mapping[tuple[str, str], Callable[[ApiState, Call, Json], Json]]] = {
    (_AUTHN, "SelfSubjectReview"): _self,
    (_AUTHN, "TokenReview"): _token,
    (_AUTHZ, "SelfSubjectAccessReview"): own_access,
    (_AUTHZ, "SubjectAccessReview"): access_of_other,
    (_AUTHZ, "LocalSubjectAccessReview"): local_access,
    (_AUTHZ, "SelfSubjectRulesReview"): _rules,
}


def is_review(call: Call) -> bool:
    """Return whether a call creates a review."""
    return call.resource.key in _REVIEWS
