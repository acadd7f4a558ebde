"""The changes of the dashboard, as writes to the store of a cluster.

The store is that of a local cluster or an API server; an ``ActingUser`` has the rights there.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from stretto.api.codec import set_fields
from stretto.api.edit.manifests import load_manifests
from stretto.api.types.heads import decode_object_head
from stretto.api.wire.kinds import NAMESPACE, NODE, POD, Kind
from stretto.base.errors import NotAllowedError, NotFoundError, StrettoError
from stretto.stores.rights import ObjectRight
from stretto.stores.store import Eviction, Patch, Reply, Store, WriteOutcome
from stretto.web.views.acting.contract import ActingUser, Action, SubmittedObject

_CLOSED: Final[Mapping[Action, bool]] = {Action.CORDON: True, Action.UNCORDON: False}
"""Maps an action to whether the node is cordoned afterwards."""
_PASTED: Final = "pasted objects"
"""Name of submitted text in messages."""


class _Pasted(NamedTuple):
    """One object of a submitted text."""

    #: Its kind; if the cluster does not serve it, the kind in the text.
    kind: Kind
    #: Its namespace; empty for cluster-scoped kinds.
    namespace: str
    #: Its name; empty if the server generates it.
    name: str
    #: Kind, namespace and name, for display.
    title: str
    #: Its JSON.
    body: bytes
    #: Reason why the cluster does not serve its kind; empty if it does.
    problem: str


class StoreActions:
    """Actions that cordon nodes, evict pods and create objects."""

    def __init__(self, store: Store, user: ActingUser) -> None:
        """Write to a store.

        Args:
            store: the store; it applies the admission of its cluster.
            user: the user whose rights the writes have.
        """
        self._store = store
        self._user = user

    @property
    def actor(self) -> str:
        """The user whose rights the changes have."""
        return self._user.name

    def refusal(self, action: Action, subject: str) -> str:
        """Return why the user may not act on a node or pod ``namespace/name``; empty if it may."""
        if action in _CLOSED:
            return self._user.refusal(ObjectRight("patch", NODE, name=subject))
        namespace, _, name = subject.partition("/")
        return self._user.refusal(ObjectRight("create", POD, namespace, name, "eviction"))

    def act(self, action: Action, subject: str) -> None:
        """Cordon or uncordon a node, or evict a pod within its disruption budgets.

        Raises:
            NotFoundError: no such pod.
            NotAllowedError: the store refused the action, for example because of a disruption
                budget.
        """
        if action in _CLOSED:
            patch = Patch("", subject, {"spec": {"unschedulable": _CLOSED[action]}})
            (reply,) = self._store.patch(NODE, [patch])
            _check(f"node {subject}", reply)
            return
        namespace, _, name = subject.partition("/")
        found = self._store.get(POD, namespace, name)
        if found is None:
            raise NotFoundError(f"pod {subject}", "it does not exist any more")
        (reply,) = self._store.evict([Eviction(namespace, name, found.uid)])
        _check(f"pod {subject}", reply)

    def check(self, text: str) -> Sequence[SubmittedObject]:
        """Return the objects of pasted YAML, each with its refusal in a dry run of its creation.

        Each object is tried on the current state. One in a Namespace of the same text is not tried:
        the Namespace does not exist yet.

        Raises:
            InputError: the text is malformed.
            UnreachableError: the server does not answer.
        """
        spaces: set[str] = set()
        found: list[SubmittedObject] = []
        for each in self._pasted(text):
            refusal, untried = self._missing(each), ""
            if not refusal and each.namespace in spaces:
                untried = f"not tried: Namespace {each.namespace} does not exist yet"
            elif not refusal:
                refusal = self._user.trial(each.kind, each.body)
            if each.kind == NAMESPACE and not refusal:
                spaces.add(each.name)
            found.append(SubmittedObject(each.title, refusal, untried))
        return found

    def submit(self, text: str) -> Sequence[SubmittedObject]:
        """Create the objects of pasted YAML in order; a refused object does not stop the others.

        Raises:
            InputError: the text is malformed.
        """
        return [SubmittedObject(each.title, self._create(each)) for each in self._pasted(text)]

    def _missing(self, pasted: _Pasted) -> str:
        """Return why the user may not create an object; empty if it may."""
        right = ObjectRight("create", pasted.kind, pasted.namespace)
        return pasted.problem or self._user.refusal(right)

    def _create(self, pasted: _Pasted) -> str:
        """Create an object; return the reason of a refusal, empty if it was created."""
        if pasted.problem:
            return pasted.problem
        (reply,) = self._store.create(pasted.kind, [pasted.body])
        return "" if reply.outcome is WriteOutcome.OK else reply.message

    def _pasted(self, text: str) -> list[_Pasted]:
        """Decode the objects of a text.

        Raises:
            InputError: the text is malformed.
        """
        return [self._read(*each) for each in load_manifests(text, _PASTED, any_kind=True)]

    def _read(self, stated: Kind, body: bytes) -> _Pasted:
        """Decode one object; an object without a namespace gets the namespace of the user.

        Raises:
            InputError: the object is malformed.
        """
        try:
            kind, problem = self._user.served_kind(stated), ""
        except StrettoError as error:
            kind, problem = stated, str(error)
        head = decode_object_head(body).metadata
        namespace = (head.namespace or self._user.namespace) if kind.namespaced else ""
        if namespace != head.namespace:
            body = set_fields(body, {("metadata", "namespace"): namespace or None})
        name = "/".join(filter(None, (namespace, head.name or f"{head.generate_name}*")))
        return _Pasted(kind, namespace, head.name, f"{kind.kind} {name}", body, problem)


def _check(what: str, reply: Reply) -> None:
    """Raise the refusal of a write.

    Raises:
        NotAllowedError: the store refused it.
    """
    if reply.outcome is not WriteOutcome.OK:
        raise NotAllowedError(what, reply.message)
