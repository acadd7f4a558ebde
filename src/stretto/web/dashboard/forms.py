"""Pages with forms: plans of pasted objects, studies, decisions, and actions with a preview."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from stretto.base.errors import StrettoError
from stretto.web.dashboard.render import Renderer
from stretto.web.dashboard.requests import page_path, read
from stretto.web.views.parts import Actions, DashboardParts, PlanPreview
from stretto.web.views.sight import ViewSource

_MOST_BYTES: Final = 1 << 20
"""Largest accepted form."""


class DashboardForms:
    """The handlers of pages that take input."""

    def __init__(self, source: ViewSource, parts: DashboardParts, renderer: Renderer) -> None:
        """Serve the forms that the parts allow."""
        self._source = source
        self._parts = parts
        self._renderer = renderer

    def routes(self) -> list[Route]:
        """The routes of the offered forms."""
        found = [Route("/decisions", self._decisions)]
        if self._parts.runs is not None:
            found.append(Route("/studies", self._studies))
        if self._parts.plan is not None:
            found.append(Route("/plan", self._plan, methods=["GET", "POST"]))
        if self._parts.actions is not None:
            found.append(Route("/actions/{verb}", self._act, methods=["POST"]))
        return found

    async def _decisions(self, request: Request) -> Response:
        _, found = self._source.decisions(0)
        values = {"decisions": list(reversed(found))}
        return self._page("decisions", request, values)

    async def _studies(self, request: Request) -> Response:
        assert self._parts.runs is not None
        rows = await read(self._source, self._parts.runs)
        return self._page("studies", request, {"runs": rows})

    async def _plan(self, request: Request) -> Response:
        assert self._parts.plan is not None
        text, error = "", ""
        preview: PlanPreview | None = None
        if request.method == "POST":
            text = await _field(request, "objects")
            try:
                preview = await read(self._source, self._parts.plan, text)
            except StrettoError as refused:
                error = str(refused)
        values = {"text": text, "preview": preview, "error": error}
        return self._page("plan", request, values)

    async def _act(self, request: Request) -> Response:
        actions = self._parts.actions
        assert actions is not None
        subject = await _field(request, "subject")
        verb = request.path_params["verb"]
        if not subject or verb not in ("cordon", "uncordon", "evict"):
            raise HTTPException(HTTPStatus.NOT_FOUND, f"no action {verb!r} on {subject!r}")
        await read(self._source, _acted, actions, verb, subject)
        base = request.scope.get("root_path", "")
        path = f"{base}/pods/{subject}" if verb == "evict" else f"{base}/nodes/{subject}"
        return RedirectResponse(path, HTTPStatus.SEE_OTHER)

    def _page(self, template: str, request: Request, values: Mapping[str, object]) -> Response:
        bare = "part" in request.query_params
        frame = {"path": page_path(request), "bare": bare, "live": self._source.capability.live}
        return self._renderer.page(template, {**frame, **values})


def _acted(actions: Actions, verb: str, subject: str) -> None:
    if verb == "evict":
        actions.evict(subject)
    else:
        actions.cordon(subject, cordoned=verb == "cordon")


async def _field(request: Request, name: str) -> str:
    """A text of a submitted form.

    Raises:
        HTTPException: the form is too large.
    """
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_BYTES:
            text = f"the form has more than {_MOST_BYTES >> 20} MiB"
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text)
    return parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True).get(name, [""])[0]
