"""Interpretation of an API server's answers as health of a member."""

from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Final

from stretto.api.types.federation.policies import APIResource
from stretto.api.wire.kinds import Kind
from stretto.base.errors import StrettoError
from stretto.federation.connection.protocol import MemberAnswer, MemberProbe
from stretto.stores.kube.login.messages import DistrustedError
from stretto.stores.kube.survey import ServerSurvey

_REFUSALS: Final = (401, 403)


def forwarding(made: Future[MemberProbe]) -> Callable[[Future[ServerSurvey]], None]:
    """A callback of a survey that sets the result of a probe."""

    def forward(done: Future[ServerSurvey]) -> None:
        try:
            made.set_result(_probe(done.result()))
        except DistrustedError as error:
            made.set_result(MemberProbe(MemberAnswer.REFUSED, str(error)))
        except StrettoError as error:
            made.set_result(MemberProbe(MemberAnswer.UNREACHABLE, str(error)))
        except CancelledError:
            made.set_result(MemberProbe(MemberAnswer.UNREACHABLE, "the connection was closed"))
        except Exception as error:  # noqa: BLE001  (a pending probe would wait forever)
            text = f"the health check failed: {error!r}"
            made.set_result(MemberProbe(MemberAnswer.UNREACHABLE, text))

    return forward


def _probe(survey: ServerSurvey) -> MemberProbe:
    """The probe that follows from a survey of the server."""
    if survey.status == 200:
        kinds = tuple(map(api_resource, survey.kinds)) if survey.kinds is not None else None
        return MemberProbe(MemberAnswer.HEALTHY, "", kinds)
    answer = MemberAnswer.REFUSED if survey.status in _REFUSALS else MemberAnswer.UNHEALTHY
    return MemberProbe(answer, survey.message)


def api_resource(kind: Kind) -> APIResource:
    """A served kind as a FederatedCluster lists it."""
    scope = "Namespaced" if kind.namespaced else "Cluster"
    return APIResource(kind.group, kind.version, kind.kind, kind.plural, scope)
