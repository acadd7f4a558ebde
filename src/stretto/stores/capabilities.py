"""Optional guarantees of the store contract.

An embedded store has all of them. A Kubernetes API server has no transaction over several objects,
and leaves budgets and bound pods to controllers and kubelets. Code that needs such a guarantee
reads ``store.capabilities`` first; the contract tests verify the declared guarantees.
"""

from typing import Final

import msgspec


class Capabilities(msgspec.Struct, frozen=True):
    """Capabilities of a store."""

    #: ``bind_units`` binds each unit in one transaction.
    binds_units: bool = True
    #: Rejects a bind to a node that does not exist.
    checks_nodes: bool = True
    #: Replies to a bind with the pod's new state.
    shows_bound: bool = True
    #: Enforces disruption budgets itself, and reports ``allowances``.
    counts_disruptions: bool = True
    #: Deletes in one step; otherwise watches first see the object with a deletionTimestamp.
    removes_in_one_step: bool = True
    #: Deletes a bound pod immediately; otherwise the pod is marked until its kubelet has stopped
    #: it.
    removes_bound_pods: bool = True
    #: Keeps fields that the kind's type does not define.
    keeps_unknown_fields: bool = True
    #: Rejects a watch from a version that does not exist yet.
    knows_its_newest: bool = True
    #: Keeps a history of a known length, so that a test can exceed it.
    bounds_its_history: bool = True
    #: Maintains ``metadata.generation`` for kinds with a status subresource.
    counts_generations: bool = True
    #: Calls subscribers when a watch may have something to poll.
    notifies: bool = True
    #: A controller completes the binding of PVCs and provisions volumes (kube-controller-manager):
    #: pods wait for it before they are bound.
    completes_claims: bool = False
    #: Supports patches by server-side apply.
    applies: bool = False
    #: ``begin`` returns before the replies arrive.
    answers_later: bool = False


EMBEDDED: Final = Capabilities()
"""A store of this process, in memory or in a file."""
