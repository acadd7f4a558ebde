"""Writes: the request of each verb, and the interpretation of its response."""

import asyncio
from collections.abc import Sequence
from typing import Final, assert_never, cast

from stretto.api.wire.kinds import POD, Kind
from stretto.base.errors import InputError, StrettoError
from stretto.stores.kube.apply import MERGED, ownership_patch
from stretto.stores.kube.bodies import (
    CreateBody,
    binding_body,
    changed_reply,
    create_body,
    delete_body,
    deleted_record,
    disruption_patch,
    eviction_body,
    item_key,
    not_found_reply,
    patch_body,
    update_body,
)
from stretto.stores.kube.login.messages import HttpRequest, HttpResponse
from stretto.stores.kube.paths import collection_path, object_path, status_path
from stretto.stores.kube.reads import ReadCalls
from stretto.stores.kube.records import record_of
from stretto.stores.kube.transport.answers import refused_reply, status_of, unknown_reply
from stretto.stores.kube.transport.gates import RequestPurpose, purpose_of
from stretto.stores.kube.transport.retry import RequestSender, WriteBatch, WriteInFlight
from stretto.stores.store import (
    Bind,
    Deletion,
    Eviction,
    Patch,
    Record,
    Replies,
    Reply,
    StatusReason,
    Update,
    Write,
    WriteOutcome,
    WriteVerb,
)

_UPDATE_TRIES: Final = 3
"""Number of attempts to change an object while other writers change it."""
_LATE: Final = 1.0
"""Seconds after which an unanswered eviction is checked."""
_TWO_BUDGETS: Final = "more than one PodDisruptionBudget"
"""Part of an API server's message, with status 500, when a pod has two budgets."""


class WriteCalls:
    """Write calls through one sender; ``reads`` is used if a response is not conclusive."""

    def __init__(self, sender: RequestSender, reads: ReadCalls) -> None:
        self._sender = sender
        self._reads = reads
        seconds = max(1, int(sender.options.answer) - 1)
        manager = sender.options.field_manager
        #: Query that sets the server's timeout below the client's, and the field manager.
        self._limit = f"?timeout={seconds}s" + (f"&fieldManager={manager}" if manager else "")

    async def perform(self, write: Write) -> Replies:
        """Send a batch of any verb."""
        items, kind = write.items, write.kind
        match write.verb:
            case WriteVerb.BIND:
                return await self.bind(cast("Sequence[Bind]", items))
            case WriteVerb.EVICT:
                return await self.evict(cast("Sequence[Eviction]", items))
            case WriteVerb.PATCH | WriteVerb.PATCH_STATUS:
                status = write.verb is WriteVerb.PATCH_STATUS
                return await self.patch(kind, cast("Sequence[Patch]", items), status=status)
            case WriteVerb.CREATE:
                return await self.create(kind, cast("Sequence[bytes]", items))
            case WriteVerb.UPDATE:
                return await self.update(kind, cast("Sequence[Update]", items))
            case WriteVerb.DELETE:
                return await self.delete(kind, cast("Sequence[Deletion]", items))
        assert_never(write.verb)

    # ------------------------------------------------------------ any kind

    async def create(
        self, kind: Kind, bodies: Sequence[bytes], *, dry_run: bool = False
    ) -> Replies:
        """Create objects; in a dry run the server only says whether it accepts them."""
        drafts = [create_body(kind, body, index) for index, body in enumerate(bodies)]
        purpose = purpose_of(kind, RequestPurpose.WRITE)

        async def send(draft: CreateBody, batch: WriteBatch) -> Reply:
            if draft.error:
                return Reply(WriteOutcome.REFUSED, StatusReason.INVALID, draft.error)
            path = self._timed(collection_path(kind, draft.namespace))
            path += "&dryRun=All" if dry_run else ""
            request = HttpRequest("POST", path, draft.body)
            write = WriteInFlight(purpose, request, f"create {kind.resource}")
            return await self._written(kind, write, batch, is_stored=not dry_run)

        return await self._sender.all(drafts, purpose, lambda draft: draft.key, send)

    async def update(self, kind: Kind, updates: Sequence[Update]) -> Replies:
        """Replace objects."""
        purpose = purpose_of(kind, RequestPurpose.WRITE)

        async def send(update: Update, batch: WriteBatch) -> Reply:
            try:
                if update.version is not None:
                    return await self._put(kind, update, update.version, batch)
                return await self._force_update(kind, update, batch)
            except InputError as error:
                return Reply(WriteOutcome.REFUSED, StatusReason.INVALID, str(error))

        return await self._sender.all(updates, purpose, item_key, send)

    async def patch(self, kind: Kind, patches: Sequence[Patch], *, status: bool) -> Replies:
        """Patch objects: everything except the status, or only the status."""
        purpose = purpose_of(kind, RequestPurpose.STATUS if status else RequestPurpose.WRITE)
        path_of = status_path if status else object_path
        what = f"patch {kind.resource}" + ("/status" if status else "")

        async def send(patch: Patch, batch: WriteBatch) -> Reply:
            try:
                body = patch_body(kind, patch, status=status)
            except (InputError, TypeError, ValueError, RecursionError) as error:
                return Reply(WriteOutcome.REFUSED, StatusReason.INVALID, f"patch: {error}")
            if not body:
                return await self._untouched(kind, patch)
            if patch.applies:
                return await self._apply(kind, patch, body, batch)
            path = self._timed(path_of(kind, patch.namespace, patch.name))
            request = HttpRequest("PATCH", path, body, patch.type.value)
            return await self._written(kind, WriteInFlight(purpose, request, what), batch)

        return await self._sender.all(patches, purpose, item_key, send)

    async def delete(self, kind: Kind, deletions: Sequence[Deletion]) -> Replies:
        """Delete objects."""
        purpose = _deletion_purpose(kind)

        async def send(deletion: Deletion, batch: WriteBatch) -> Reply:
            return await self._delete(kind, deletion, batch)

        return await self._sender.all(deletions, purpose, item_key, send)

    # ------------------------------------------------------------ pods

    async def bind(self, binds: Sequence[Bind]) -> Replies:
        """Bind pods.

        The uid makes a repetition safe, so a bind with a lost response is repeated.
        """

        async def send(bind: Bind, batch: WriteBatch) -> Reply:
            path = self._timed(object_path(POD, bind.namespace, bind.name, "binding"))
            request = HttpRequest("POST", path, binding_body(bind))
            write = WriteInFlight(
                RequestPurpose.BIND, request, "create pods/binding", repeatable=True
            )
            answer = await self._sender.write(write, batch)
            if isinstance(answer, Reply):
                return answer
            if answer.status in (200, 201):
                return Reply(WriteOutcome.OK)
            if answer.status == 409:
                return await self._already_bound(bind, answer)
            return refused_reply(answer, write.what)

        return await self._sender.all(binds, RequestPurpose.BIND, item_key, send)

    async def evict(self, evictions: Sequence[Eviction]) -> Replies:
        """Evict pods.

        If the pod was replaced by another one with the same name, the server retries for ten
        seconds. Therefore the uid of the pod is checked if the response is late.
        """
        what = "create pods/eviction"

        async def send(eviction: Eviction, batch: WriteBatch) -> Reply:
            if eviction.starting or eviction.beyond_budget:
                refused = await self._mark_disrupted(eviction, batch)
                if refused is not None:
                    return refused
            if eviction.beyond_budget:
                deletion = Deletion(eviction.namespace, eviction.name, eviction.uid)
                return await self._delete(POD, deletion, batch)
            path = self._timed(object_path(POD, eviction.namespace, eviction.name, "eviction"))
            write = WriteInFlight(
                RequestPurpose.EVICT, HttpRequest("POST", path, eviction_body(eviction)), what
            )
            sent = asyncio.create_task(self._sender.write(write, batch))
            try:
                await asyncio.wait({sent}, timeout=_LATE)
                if not sent.done() and (gone := await self._gone(eviction)) is not None:
                    return gone
                answer = await sent
            finally:
                if not sent.done():
                    sent.cancel()
                    await asyncio.wait({sent})
            if isinstance(answer, Reply):
                if _TWO_BUDGETS in answer.message:
                    return Reply(WriteOutcome.REFUSED, StatusReason.INTERNAL, answer.message)
                return answer
            if answer.status in (200, 201):
                return Reply(WriteOutcome.OK)
            return refused_reply(answer, what)

        return await self._sender.all(evictions, RequestPurpose.EVICT, item_key, send)

    # ------------------------------------------------------------ internals

    def _timed(self, path: str) -> str:
        return path + self._limit

    async def _delete(self, kind: Kind, deletion: Deletion, batch: WriteBatch) -> Reply:
        path = self._timed(object_path(kind, deletion.namespace, deletion.name))
        request = HttpRequest("DELETE", path, delete_body(deletion))
        write = WriteInFlight(_deletion_purpose(kind), request, f"delete {kind.resource}")
        answer = await self._sender.write(write, batch)
        if isinstance(answer, Reply):
            return answer
        if answer.status not in (200, 202):
            return refused_reply(answer, write.what)
        return Reply(WriteOutcome.OK, record=deleted_record(kind, deletion, answer))

    async def _mark_disrupted(self, eviction: Eviction, batch: WriteBatch) -> Reply | None:
        """Write the condition of an evicted pod if the server does not.

        A pod that changes meanwhile is read again, because it may run now. Returns ``None`` to
        continue, otherwise the reply to the eviction.
        """
        path = self._timed(status_path(POD, eviction.namespace, eviction.name))
        for _ in range(_UPDATE_TRIES):
            pod = await self._found(POD, eviction.namespace, eviction.name)
            if isinstance(pod, Reply):
                return pod
            if pod.uid != eviction.uid:
                return changed_reply(pod)
            patch = disruption_patch(eviction, pod)
            if patch is None:
                return None
            body = patch_body(POD, patch, status=True)
            request = HttpRequest("PATCH", path, body, patch.type.value)
            write = WriteInFlight(RequestPurpose.EVICT, request, "patch pods/status")
            reply = await self._written(POD, write, batch)
            if reply.outcome is WriteOutcome.OK:
                return None
            if reply.outcome is not WriteOutcome.CONFLICT:
                return reply
        return None

    async def _gone(self, eviction: Eviction) -> Reply | None:
        """The reply to an eviction whose pod no longer exists; ``None`` if the pod exists."""
        try:
            now = await self._reads.get(POD, eviction.namespace, eviction.name)
        except StrettoError:
            return None  # the eviction's own answer reports it
        if now is None:
            return not_found_reply(POD, eviction.namespace, eviction.name)
        return changed_reply(now) if now.uid != eviction.uid else None

    async def _written(
        self, kind: Kind, write: WriteInFlight, batch: WriteBatch, *, is_stored: bool = True
    ) -> Reply:
        """Send a write whose response contains the object; one that is not stored has no record."""
        answer = await self._sender.write(write, batch)
        if isinstance(answer, Reply):
            return answer
        if answer.status not in (200, 201):
            return refused_reply(answer, write.what)
        if not is_stored:
            return Reply(WriteOutcome.OK)
        try:
            return Reply(WriteOutcome.OK, record=record_of(kind, answer.body))
        except InputError as error:
            return unknown_reply(write.what, str(error))

    async def _apply(self, kind: Kind, patch: Patch, body: bytes, batch: WriteBatch) -> Reply:
        """Apply fields; earlier writes of this client count as applied."""
        purpose, what = purpose_of(kind, RequestPurpose.WRITE), f"apply {kind.resource}"
        path = self._timed(object_path(kind, patch.namespace, patch.name))
        owned = await ownership_patch(self._sender, kind, patch)
        if isinstance(owned, Reply):
            return owned
        if owned:
            request = HttpRequest("PATCH", path, owned, MERGED)
            reply = await self._written(kind, WriteInFlight(purpose, request, what), batch)
            if reply.outcome is not WriteOutcome.OK:
                return reply
        request = HttpRequest("PATCH", f"{path}&force=true", body, patch.type.value)
        return await self._written(kind, WriteInFlight(purpose, request, what), batch)

    async def _put(
        self, kind: Kind, update: Update, version: int | None, batch: WriteBatch
    ) -> Reply:
        body = update_body(update, version)
        path = self._timed(object_path(kind, update.namespace, update.name))
        purpose = purpose_of(kind, RequestPurpose.WRITE)
        write = WriteInFlight(purpose, HttpRequest("PUT", path, body), f"update {kind.resource}")
        return await self._written(kind, write, batch)

    async def _force_update(self, kind: Kind, update: Update, batch: WriteBatch) -> Reply:
        """Replace an object of any version; custom resources require the current version."""
        reply = await self._put(kind, update, None, batch)
        tries = 0
        while "resourceVersion" in reply.message and tries < _UPDATE_TRIES:
            tries += 1
            old = await self._found(kind, update.namespace, update.name)
            if isinstance(old, Reply):
                return old
            reply = await self._put(kind, update, old.version, batch)
        return reply

    async def _untouched(self, kind: Kind, patch: Patch) -> Reply:
        """The reply to a patch that changes nothing."""
        old = await self._found(kind, patch.namespace, patch.name)
        if isinstance(old, Reply):
            return old
        if (patch.uid and patch.uid != old.uid) or patch.version not in (None, old.version):
            return changed_reply(old)
        return Reply(WriteOutcome.OK, record=old)

    async def _found(self, kind: Kind, namespace: str, name: str) -> Record | Reply:
        """Return an object, or the reply to a write of a missing or unreadable object."""
        try:
            found = await self._reads.get(kind, namespace, name)
        except StrettoError as error:
            return Reply(WriteOutcome.REFUSED, StatusReason.UNAVAILABLE, str(error))
        return not_found_reply(kind, namespace, name) if found is None else found

    async def _already_bound(self, bind: Bind, answer: HttpResponse) -> Reply:
        """The reply to a bind in conflict: an existing binding to the same node is success."""
        try:
            found = await self._reads.get(POD, bind.namespace, bind.name)
        except StrettoError as error:
            return unknown_reply("create pods/binding", str(error))
        if found is None:
            return not_found_reply(POD, bind.namespace, bind.name)
        if found.uid != bind.uid:
            return changed_reply(found)
        if found.node == bind.node:
            return Reply(WriteOutcome.OK, record=found)
        return Reply(WriteOutcome.CONFLICT, StatusReason.CONFLICT, status_of(answer).message, found)


def _deletion_purpose(kind: Kind) -> RequestPurpose:
    """The purpose of deletions: deletions of pods share the budget of evictions."""
    return purpose_of(kind, RequestPurpose.EVICT if kind == POD else RequestPurpose.WRITE)
