"""Pages with forms: plans of pasted objects and of moves, decisions, actions with a preview."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from stretto.base.errors import InputError, StrettoError
from stretto.control.controllers.move_plan import DefragPlan
from stretto.explain.inventory.moves import capacity_rows
from stretto.state.work.rescheduling import ReschedulingGoal
from stretto.web.dashboard.render import Renderer
from stretto.web.dashboard.requests import page_path, read
from stretto.web.views.parts import Actions, DashboardParts, PlanPreview
from stretto.web.views.sight import ViewSource

_MOST_BYTES: Final = 1 << 20
"""Largest accepted form."""
_BUDGET: Final = 50
"""Moves of a plan, unless another number is given."""
_MOST_MOVES: Final = 10_000
"""Largest number of moves of a plan."""
_GOALS: Final = {ReschedulingGoal.GPUS: "whole GPUs", ReschedulingGoal.NODES: "whole nodes"}
"""What each goal frees, for display."""


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
        if self._parts.plan is not None:
            found.append(Route("/plan", self._plan, methods=["GET", "POST"]))
        if self._parts.defragment is not None:
            found.append(Route("/defragment", self._defragment, methods=["GET", "POST"]))
        if self._parts.actions is not None:
            found.append(Route("/actions/{verb}", self._act, methods=["POST"]))
        return found

    async def _decisions(self, request: Request) -> Response:
        _, found = self._source.decisions(0)
        values = {"decisions": list(reversed(found))}
        return self._page("decisions", request, values)

    async def _plan(self, request: Request) -> Response:
        assert self._parts.plan is not None
        text, error = "", ""
        preview: PlanPreview | None = None
        if request.method == "POST":
            text = (await _form(request)).get("objects", "")
            try:
                preview = await run_in_threadpool(self._parts.plan, text)
            except StrettoError as refused:
                error = str(refused)
        values = {"text": text, "preview": preview, "error": error}
        return self._page("plan", request, values)

    async def _defragment(self, request: Request) -> Response:
        assert self._parts.defragment is not None
        goal, budget = ReschedulingGoal.GPUS, _BUDGET
        plan: DefragPlan | None = None
        error = ""
        if request.method == "POST":
            try:
                goal, budget = _moves_of(await _form(request))
                plan = await run_in_threadpool(self._parts.defragment, goal, budget)
            except StrettoError as refused:
                error = str(refused)
        values = {
            "goals": tuple(ReschedulingGoal),
            "names": _GOALS,
            "goal": goal,
            "budget": budget,
            "most": _MOST_MOVES,
            "plan": plan,
            "capacity": capacity_rows(plan) if plan is not None else (),
            "error": error,
        }
        return self._page("defragment", request, values)

    async def _act(self, request: Request) -> Response:
        actions = self._parts.actions
        assert actions is not None
        subject = (await _form(request)).get("subject", "")
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


def _moves_of(form: Mapping[str, str]) -> tuple[ReschedulingGoal, int]:
    """The goal and the number of moves of a submitted form.

    Raises:
        InputError: either is invalid.
    """
    goal, budget = form.get("goal", ""), form.get("budget", "")
    if goal not in tuple(ReschedulingGoal):
        raise InputError("goal", goal, " or ".join(ReschedulingGoal))
    if not (budget.isdecimal() and len(budget) < 8 and 1 <= int(budget) <= _MOST_MOVES):
        raise InputError("budget", budget, f"1 to {_MOST_MOVES:,} moves")
    return ReschedulingGoal(goal), int(budget)


async def _form(request: Request) -> dict[str, str]:
    """The fields of a submitted form.

    Raises:
        HTTPException: the form is too large.
    """
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_BYTES:
            text = f"the form has more than {_MOST_BYTES >> 20} MiB"
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text)
    fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    return {name: values[0] for name, values in fields.items()}
