"""ResourceQuotas in a run: a rejected pod is created after the quota has capacity again.

Controllers of Kubernetes retry a rejected pod with a growing delay; the delays here are those of
the Job controller. An attempt without a change of the quota cannot succeed and is omitted, so a run
ends even if pods are rejected.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from math import inf
from typing import Final

import msgspec

from stretto.api.admission.quota import check_quotas, used_by, with_usage, without
from stretto.api.admission.request import AdmissionRequest, ForbiddenError, JsonObject, ObjectSet
from stretto.api.codec import parse_object
from stretto.api.types.heads import ENDED
from stretto.api.wire.kinds import PERSISTENT_VOLUME_CLAIM, POD, RESOURCE_QUOTA, Kind
from stretto.base.errors import TooOldError
from stretto.inputs.scenario.arrivals import ObjectArrival
from stretto.stores.store import EventType, Store, Watch

FIRST_DELAY: Final = 1.0
"""Seconds from a refusal to the next attempt."""
LONGEST_DELAY: Final = 60.0
"""Maximum seconds between two attempts."""


class RefusedPod(msgspec.Struct, frozen=True):
    """A pod that a quota rejects."""

    #: The pod.
    arrival: ObjectArrival
    #: Second of the first refusal.
    since: float
    #: The refusal, in the words of the API server.
    message: str
    #: Second of the next attempt; infinity until the quota has more capacity.
    due: float = inf


class ArrivalQuotas:
    """Charges the pods of a run to the quotas of their namespaces."""

    def __init__(self, store: Store, objects: Sequence[tuple[Kind, bytes]]) -> None:
        """Count the pods and PVCs of a store for the quotas among some objects."""
        quotas = [parse_object(body, "quota") for kind, body in objects if kind == RESOURCE_QUOTA]
        self._quotas = [{**each, "status": {}} for each in quotas]
        self._spaces = {each["metadata"]["namespace"] for each in quotas}
        self._store = store
        self._refused: dict[str, RefusedPod] = {}
        self._pods: dict[str, JsonObject] = {}
        self._view = ObjectSet()
        self._watch: Watch | None = None
        if self._spaces:
            self._count()

    @property
    def refused(self) -> Mapping[str, RefusedPod]:
        """The rejected pods, by ``namespace/name``, in their order."""
        return self._refused

    def admitted(self, pods: Iterable[ObjectArrival], elapsed: float) -> list[ObjectArrival]:
        """The pods within the quotas, which are charged; the others are retried later."""
        return [each for each in pods if self._admit(each, elapsed)]

    def retried(self, elapsed: float) -> list[ObjectArrival]:
        """Rejected pods whose next attempt is due and succeeds."""
        self._look(elapsed)
        due = [each for each in self._refused.values() if each.due <= elapsed]
        return [each.arrival for each in due if self._admit(each.arrival, elapsed)]

    def next_due(self) -> float:
        """Second of the next attempt; infinity for none."""
        return min((each.due for each in self._refused.values()), default=inf)

    def restore(self, pods: Iterable[ObjectArrival], elapsed: float) -> None:
        """Retry pods that were rejected before an interruption at once."""
        for each in pods:
            key = f"{each.namespace}/{each.name}"
            self._refused[key] = RefusedPod(each, elapsed, "refused before", elapsed)

    # ------------------------------------------------------------ charging

    def _admit(self, pod: ObjectArrival, elapsed: float) -> bool:
        """Charge a pod, or record it as rejected."""
        if pod.namespace not in self._spaces:
            return True
        key = f"{pod.namespace}/{pod.name}"
        if pod.departure_s is not None and pod.departure_s <= elapsed:
            self._refused.pop(key, None)
            return False
        body = parse_object(pod.body, key)
        request = AdmissionRequest(POD, body, namespace=pod.namespace)
        try:
            charged = check_quotas(request, body, self._view)
        except ForbiddenError as error:
            since = self._refused[key].since if key in self._refused else elapsed
            self._refused[key] = RefusedPod(pod, since, str(error))
            return False
        self._refused.pop(key, None)
        self._put(charged)
        self._pods[key] = body
        return True

    def _put(self, quotas: Iterable[JsonObject]) -> None:
        for each in quotas:
            self._view.add(RESOURCE_QUOTA, each)

    def _count(self) -> None:
        """Count the objects of the store."""
        listing = self._store.list(POD)
        claims = self._store.list(PERSISTENT_VOLUME_CLAIM).records
        objects = [
            (record.kind, parse_object(record.body, record.name))
            for record in chain(listing.records, claims)
            if record.namespace in self._spaces
        ]
        self._pods = {_key(body): body for kind, body in objects if kind == POD}
        counted = ObjectSet(objects)
        self._view = ObjectSet(
            (RESOURCE_QUOTA, with_usage(each, used_by(each, counted))) for each in self._quotas
        )
        self._watch = self._store.watch(POD, listing.version)

    # ------------------------------------------------------------ ends of pods

    def _look(self, elapsed: float) -> None:
        """Release the pods that have ended."""
        if self._watch is None:
            return
        try:
            while events := self._watch.poll():
                for event in events:
                    record = event.record
                    if record.namespace in self._spaces and (
                        event.type is EventType.DELETED or _has_ended(record.body)
                    ):
                        self._release(record.namespace, record.name, elapsed)
        except TooOldError:
            self._watch.close()
            self._count()
            self._wake(self._spaces, elapsed)

    def _release(self, namespace: str, name: str, elapsed: float) -> None:
        """Refund a pod that has ended."""
        body = self._pods.pop(f"{namespace}/{name}", None)
        if body is not None:
            self._put(without(POD, body, self._view.list(RESOURCE_QUOTA, namespace)))
            self._wake({namespace}, elapsed)

    def _wake(self, namespaces: set[str], elapsed: float) -> None:
        """Schedule rejected pods for the next attempt of their controllers."""
        for key, each in self._refused.items():
            if each.arrival.namespace in namespaces:
                due = min(each.due, _next_attempt(each.since, elapsed))
                self._refused[key] = msgspec.structs.replace(each, due=due)


def _next_attempt(since: float, now: float) -> float:
    """The first attempt at or after a second, for a pod that was rejected at ``since``."""
    delay, due = FIRST_DELAY, since + FIRST_DELAY
    while due < now:
        delay = min(2 * delay, LONGEST_DELAY)
        due += delay
    return due


def _has_ended(body: bytes) -> bool:
    """True if a pod has finished."""
    if not any(phase.encode() in body for phase in ENDED):
        return False
    status: JsonObject = parse_object(body, "pod").get("status") or {}
    return status.get("phase") in ENDED


def _key(body: JsonObject) -> str:
    return f"{body['metadata']['namespace']}/{body['metadata']['name']}"
