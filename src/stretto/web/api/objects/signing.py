"""CertificateSigningRequests: the requester, and the time of each condition."""

from typing import Any

from stretto.web.api.authn.users import User, authenticated
from stretto.web.api.state import ApiState

Json = dict[str, Any]


def state_requester(item: Json, user: User) -> None:
    """Set the user of a new request in its spec."""
    known = authenticated(user)
    facts: Json = {
        "username": known.name,
        "uid": known.uid,
        "groups": list(known.groups),
        "extra": {key: list(each) for key, each in known.extra.items()},
    }
    stated = {key: each for key, each in item["spec"].items() if key not in facts}
    item["spec"] = {**stated, **{key: each for key, each in facts.items() if each}}


def stamp_conditions(state: ApiState, item: Json, old: Json) -> None:
    """Set the times of conditions that have none in the request."""
    status = item.get("status") or {}
    since = {
        (each.get("type"), each.get("status")): each.get("lastTransitionTime")
        for each in (old.get("status") or {}).get("conditions") or ()
    }
    conditions = []
    for each in status.get("conditions") or ():
        known = since.get((each.get("type"), each.get("status"))) or state.now
        conditions.append(
            {
                **each,
                "lastUpdateTime": each.get("lastUpdateTime") or state.now,
                "lastTransitionTime": each.get("lastTransitionTime") or known,
            }
        )
    if conditions:
        item["status"] = {**status, "conditions": conditions}
