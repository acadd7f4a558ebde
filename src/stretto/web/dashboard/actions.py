"""Actions: a preview of the effects of each, and the action itself."""

from collections.abc import Mapping
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from stretto.web.dashboard.render import Renderer
from stretto.web.dashboard.requests import form_of, frame_of, read
from stretto.web.views.acting.consequences import (
    Consequences,
    cordon_effects,
    eviction_effects,
    pod_record,
)
from stretto.web.views.acting.contract import Action, Actions
from stretto.web.views.details import node_details
from stretto.web.views.state import ViewSource


class ActionPages:
    """Handlers of actions: GET shows the effects, POST runs the action."""

    def __init__(self, source: ViewSource, actions: Actions, renderer: Renderer) -> None:
        """Serve actions on the objects of a source."""
        self._source = source
        self._actions = actions
        self._renderer = renderer

    def routes(self) -> list[Route]:
        """The routes of the actions."""
        return [
            Route("/actions/submit", self._submit, methods=["POST"]),
            Route("/actions/{action}", self._preview, methods=["GET"]),
            Route("/actions/{action}", self._act, methods=["POST"]),
        ]

    async def _preview(self, request: Request) -> Response:
        action, subject = _named(request, request.query_params.get("subject", ""))
        found = await read(self._source, self._effects, action, subject)
        rights = await read(self._source, self._rights, action, subject)
        values = {
            "action": action.value,
            "subject": subject,
            "found": found,
            "back": _page_of(action, subject),
            **rights,
        }
        return self._page("action", request, values)

    async def _act(self, request: Request) -> Response:
        action, subject = _named(request, (await form_of(request)).get("subject", ""))
        page = await read(self._source, self._page_after, action, subject)
        await read(self._source, self._actions.act, action, subject)
        base = request.scope.get("root_path", "")
        return RedirectResponse(base + page, HTTPStatus.SEE_OTHER)

    def _page_after(self, action: Action, subject: str) -> str:
        """Return the page with the result of an action; an evicted pod may not exist any more."""
        if action is not Action.EVICT:
            return _page_of(action, subject)
        with self._source.open() as state:
            record = pod_record(state, subject)
        return f"/nodes/{record.node}" if record is not None and record.node else "/pods"

    def _effects(self, action: Action, subject: str) -> Consequences:
        with self._source.open() as state:
            if action is Action.EVICT:
                return eviction_effects(state, subject)
            return cordon_effects(node_details(state, subject), cordoned=action is Action.CORDON)

    async def _submit(self, request: Request) -> Response:
        text = (await form_of(request)).get("objects", "")
        objects = await read(self._source, self._actions.submit, text)
        return self._page("submitted", request, {"objects": objects})

    def _rights(self, action: Action, subject: str) -> dict[str, str]:
        """Return the acting user, and the reason if the user may not act."""
        return {
            "actor": self._actions.actor,
            "refusal": self._actions.refusal(action, subject),
        }

    def _page(self, template: str, request: Request, values: Mapping[str, object]) -> Response:
        return self._renderer.page(template, {**frame_of(request), **values})


def _named(request: Request, subject: str) -> tuple[Action, str]:
    """Return the action and the object of a request.

    Raises:
        HTTPException: the action or the object is missing or unknown.
    """
    word = request.path_params["action"]
    if not subject or word not in tuple(Action):
        raise HTTPException(HTTPStatus.NOT_FOUND, f"no action {word!r} on {subject!r}")
    return Action(word), subject


def _page_of(action: Action, subject: str) -> str:
    """Return the page of the object of an action."""
    return f"/pods/{subject}" if action is Action.EVICT else f"/nodes/{subject}"
