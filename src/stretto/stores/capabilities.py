"""Optional guarantees of the store contract.

An embedded store gives them all. A Kubernetes API server has no transaction over several objects
and leaves budgets and bound pods to controllers and kubelets. Code that needs such a guarantee
reads ``store.capabilities`` first; the contract tests verify what a store declares.
"""

from typing import Final

import msgspec


class Capabilities(msgspec.Struct, frozen=True):
    """What a store can do."""

    #: ``bind_units`` binds each unit in one transaction.
    binds_units: bool = True
    #: Refuses to bind to a node that does not exist.
    checks_nodes: bool = True
    #: Answers a bind with the pod's new state.
    shows_bound: bool = True
    #: Enforces disruption budgets itself as soon as they exist, and reports ``allowances``.
    counts_disruptions: bool = True
    #: Deletes in one step; otherwise watches see the object marked first, immediately before.
    removes_in_one_step: bool = True
    #: Deletes a bound pod immediately; otherwise it is marked until its kubelet has stopped it.
    removes_bound_pods: bool = True
    #: Keeps fields that the kind's type does not define.
    keeps_unknown_fields: bool = True
    #: Rejects a watch from a version that was never assigned.
    knows_its_newest: bool = True
    #: Keeps a history of a known length, so that a test can outrun a watch.
    bounds_its_history: bool = True
    #: Maintains ``metadata.generation`` for kinds with a status subresource.
    counts_generations: bool = True
    #: Calls subscribers when a watch may have something to poll.
    notifies: bool = True
    #: A controller completes the binding of PVCs and provisions volumes
    #: (kube-controller-manager): pods wait for that before they are bound.
    completes_claims: bool = False
    #: Supports patches by server-side apply.
    applies: bool = False
    #: ``begin`` returns before the answers arrive.
    answers_later: bool = False


EMBEDDED: Final = Capabilities()
"""A store of this process, in memory or in a file."""
