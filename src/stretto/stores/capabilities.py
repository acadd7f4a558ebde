"""In which of the contract's finer promises a store may differ, said by the store itself.

An embedded store keeps them all. A Kubernetes API server has no transaction over several objects,
leaves counting to controllers and bound pods to the nodes' agents; whoever relies on one of these
asks ``store.capabilities`` first, and the contract's tests hold a store to what it says.
"""

from typing import Final

import msgspec


class Capabilities(msgspec.Struct, frozen=True):
    """What a store can do."""

    #: Binds whole units in one transaction (it is a ``UnitStore``).
    binds_units: bool = True
    #: Refuses to bind to a node that is not there.
    checks_nodes: bool = True
    #: Answers a bind with the pod as it is then.
    shows_bound: bool = True
    #: Counts disruption budgets by itself, as soon as they exist.
    counts_disruptions: bool = True
    #: Removes in one step; otherwise watches see the object marked first, in the same breath.
    removes_in_one_step: bool = True
    #: Removes a bound pod at once; otherwise it is marked until its node's agent is done.
    removes_bound_pods: bool = True
    #: Keeps fields that the kind's type does not have.
    keeps_unknown_fields: bool = True
    #: Tells a watch from a version that was never given that it is wrong.
    knows_its_newest: bool = True
    #: Keeps a history of a known length, so that a watch can be outrun in a test.
    bounds_its_history: bool = True
    #: Has a controller that completes the binding of claims and has volumes made
    #: (kube-controller-manager): pods wait for that before they are bound.
    completes_claims: bool = False


EMBEDDED: Final = Capabilities()
"""A store of our own, in memory or in a file."""
