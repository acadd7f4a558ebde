"""Pages with computed results: decisions, estimated starts, plans of objects and of moves."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import inf
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stretto.base.errors import InputError, StrettoError
from stretto.control.controllers.move_plan import DefragPlan
from stretto.explain.inventory.moves import capacity_rows
from stretto.state.work.rescheduling import ReschedulingGoal
from stretto.web.dashboard.actions import ActionPages
from stretto.web.dashboard.render import Renderer
from stretto.web.dashboard.requests import form_of, frame_of, read
from stretto.web.views.acting.consequences import drain_warnings
from stretto.web.views.acting.contract import SubmittedObject
from stretto.web.views.decisions import matching_decisions
from stretto.web.views.parts import DashboardParts, PlanPreview
from stretto.web.views.state import ViewSource

_BUDGET: Final = 50
"""Default number of moves of a plan."""
_MOST_MOVES: Final = 10_000
"""Maximum number of moves of a plan."""
_MINUTES: Final = {"1": "1 minute", "10": "10 minutes", "60": "1 hour"}
"""Periods of the page of decisions, in minutes, with their names."""
_GOALS: Final = {ReschedulingGoal.GPUS: "whole GPUs", ReschedulingGoal.NODES: "whole nodes"}
"""The capacity that each goal frees, for display."""


class DashboardForms:
    """Handlers of pages with input."""

    def __init__(self, source: ViewSource, parts: DashboardParts, renderer: Renderer) -> None:
        """Serve the forms of the given parts."""
        self._source = source
        self._parts = parts
        self._renderer = renderer

    def routes(self) -> list[Route]:
        """Return the routes of the offered forms."""
        found = [Route("/decisions", self._decisions)]
        if self._parts.plan is not None:
            found.append(Route("/plan", self._plan, methods=["GET", "POST"]))
        if self._parts.defragment is not None:
            found.append(Route("/defragment", self._defragment, methods=["GET", "POST"]))
        if self._parts.start is not None:
            found.append(Route("/pods/{namespace}/{name}/start", self._start))
        if self._parts.drain is not None:
            found.append(Route("/nodes/{name}/drain", self._drain))
        if self._parts.actions is not None:
            found += ActionPages(self._source, self._parts.actions, self._renderer).routes()
        return found

    async def _decisions(self, request: Request) -> Response:
        frame = frame_of(request, self._source)
        text, minutes = (
            request.query_params.get("find", ""),
            request.query_params.get("minutes", ""),
        )
        now = await read(self._source, self._now)
        since = now - 60 * int(minutes) if minutes in _MINUTES else -inf
        _, found = self._source.decisions(0)
        shown = matching_decisions(found, text, since)
        values = {
            "decisions": shown,
            "kept": len(found),
            "counts": Counter(each.step for each in shown).most_common(),
            "find": text,
            "minutes": minutes,
            "choices": _MINUTES,
            "now": now,
        }
        return self._renderer.page("decisions", {**frame, **values})

    def _now(self) -> float:
        """Return the time of the state; infinity, before which all decisions are, if unknown."""
        with self._source.open() as state:
            return inf if state.at is None else state.at

    async def _plan(self, request: Request) -> Response:
        assert self._parts.plan is not None
        text, error, actor = "", "", ""
        preview: PlanPreview | None = None
        objects: Sequence[SubmittedObject] = ()
        actions = self._parts.actions
        if request.method == "POST":
            text = (await form_of(request)).get("objects", "")
            try:
                if actions is not None:
                    objects = await read(self._source, actions.check, text)
                    actor = await read(self._source, lambda: actions.actor)
                preview = await run_in_threadpool(self._parts.plan, text)
            except StrettoError as refused:
                error = str(refused)
        values = {
            "text": text,
            "preview": preview,
            "error": error,
            "objects": objects,
            "actor": actor,
        }
        return self._page("plan", request, values)

    async def _defragment(self, request: Request) -> Response:
        assert self._parts.defragment is not None
        goal, budget = ReschedulingGoal.GPUS, _BUDGET
        plan: DefragPlan | None = None
        error = ""
        if request.method == "POST":
            try:
                goal, budget = _moves_of(await form_of(request))
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

    async def _drain(self, request: Request) -> Response:
        assert self._parts.drain is not None
        node = request.path_params["name"]
        warnings = await read(self._source, self._warnings, node)
        preview = await run_in_threadpool(self._parts.drain, node)
        return self._page(
            "drain", request, {"node": node, "preview": preview, "warnings": warnings}
        )

    def _warnings(self, node: str) -> Sequence[str]:
        with self._source.open() as state:
            return drain_warnings(state, node)

    async def _start(self, request: Request) -> Response:
        assert self._parts.start is not None
        pod = f"{request.path_params['namespace']}/{request.path_params['name']}"
        sentence = await run_in_threadpool(self._parts.start, pod)
        return self._page("start", request, {"pod": pod, "sentence": sentence})

    def _page(self, template: str, request: Request, values: Mapping[str, object]) -> Response:
        return self._renderer.page(template, {**frame_of(request), **values})


def _moves_of(form: Mapping[str, str]) -> tuple[ReschedulingGoal, int]:
    """Return the goal and the number of moves of a submitted form.

    Raises:
        InputError: the goal or the number is invalid.
    """
    goal, budget = form.get("goal", ""), form.get("budget", "")
    if goal not in tuple(ReschedulingGoal):
        raise InputError("goal", goal, " or ".join(ReschedulingGoal))
    if not (budget.isdecimal() and len(budget) < 8 and 1 <= int(budget) <= _MOST_MOVES):
        raise InputError("budget", budget, f"1 to {_MOST_MOVES:,} moves")
    return ReschedulingGoal(goal), int(budget)
