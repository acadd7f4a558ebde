"""/offers: outstanding offers with their age, frameworks with their filters, and obstacles.

Mesos has no such endpoint; `stretto offers` reads it.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from stretto.offers.master.api.http import HttpAnswer, MasterRequest, document, only
from stretto.offers.master.core.documents import known_roles
from stretto.offers.master.core.reasons import obstacles, role_share
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.resources import formats
from stretto.offers.master.state.frameworks import Framework

Document = dict[str, Any]
"""A JSON object."""


def handle(master: MasterState, request: MasterRequest) -> HttpAnswer:
    """Answer ``GET /offers``."""
    only(request, "GET")
    return document(offers(master, request.query), request)


def offers(master: MasterState, query: Mapping[str, str]) -> Document:
    """All offers, or with ``framework`` (id or name) one framework and its obstacles."""
    wanted = query.get("framework")
    found: Document = {
        "roles": [_role(master, each) for each in known_roles(master)],
        "frameworks": [
            _framework(master, each)
            for each in reversed(list(master.frameworks))
            if wanted in (None, each.id, each.info["name"])
        ],
        "offers": [
            {
                "id": each.id,
                "framework_id": each.framework_id,
                "agent_id": each.agent_id,
                "role": each.role,
                "resources": formats.text(each.resources.allocated(None)),
                "age": max(0.0, master.wall - each.at),
            }
            for each in master.offers
        ],
    }
    if wanted is not None:
        agent = query.get("agent")
        found["obstacles"] = [
            each._asdict()
            for framework in master.frameworks
            if wanted in (framework.id, framework.info["name"])
            for each in obstacles(master, framework)
            if agent in (None, each.agent, each.host)
        ]
    return found


def _role(master: MasterState, role: str) -> Document:
    return {
        "name": role,
        "weight": master.weights.get(role, 1.0),
        "share": role_share(master, role),
        "frameworks": len(master.frameworks.in_role(role)),
        "filters": master.allocator.active_filters(master.now).get(role, 0),
    }


def _framework(master: MasterState, framework: Framework) -> Document:
    states = Counter(task.state for task in framework.tasks.values())
    sent = master.offers.of_framework(framework.id)
    return {
        "id": framework.id,
        "name": framework.info["name"],
        "roles": framework.roles,
        "suppressed": framework.suppressed,
        "connected": framework.connected,
        "tasks": states.total(),
        "used": formats.text(framework.used.allocated(None)),
        "offers": len(sent),
        "oldest": max((master.wall - each.at for each in sent), default=None),
    }
