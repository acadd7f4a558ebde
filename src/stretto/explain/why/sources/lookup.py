"""Pods and nodes by the names that users type, with suggestions for unknown names."""

from collections.abc import Iterable, Iterator

from stretto.api.wire.kinds import DEFAULT_NAMESPACE
from stretto.base.errors import InputError, NotFoundError, suggestion
from stretto.base.nearest import nearest
from stretto.explain.words.amounts import count_of_known
from stretto.state.cluster.cluster import Cluster


def row_named(cluster: Cluster, pod: str) -> int:
    """The row of ``name`` or ``namespace/name``.

    Raises:
        NotFoundError: no such pod; the hint lists similar names.
        InputError: pods of several namespaces have the name, and none is in ``default``.
    """
    rows = list(_rows_named(cluster, pod))
    pods = cluster.pods
    if len(rows) > 1:
        preferred = [row for row in rows if pods.namespace[row] == DEFAULT_NAMESPACE]
        if not preferred:
            keys = sorted(pods.key(row) for row in rows)
            named = ", ".join(keys[:5]) + (", ..." if len(keys) > 5 else "")
            raise InputError("POD", pod, "one pod", f"name its namespace: {named}")
        rows = preferred
    if rows:
        return rows[0]
    raise unknown_pod(pod, len(pods), suggestion(_similar(cluster, pod)))


def unknown_pod(pod: str, count: int, hint: str) -> NotFoundError:
    """Return the error about a pod that is not one of a number of pods, with a hint."""
    return NotFoundError(f"pod {pod}", count_of_known(count, "pod"), hint)


def slot_named(cluster: Cluster, node: str) -> int:
    """The slot of a node.

    Raises:
        NotFoundError: no such node; the hint lists similar names.
    """
    names = cluster.nodes.by_name
    if node in names:
        return names[node]
    known = count_of_known(len(names), "node")
    raise NotFoundError(f"node {node}", known, similar_names(node, names))


def similar_names(name: str, names: Iterable[str]) -> str:
    """Similar names as a question; empty for none."""
    return suggestion(nearest(name, names))


def full_name(pod: str) -> str:
    """``namespace/name`` of a pod; the namespace defaults to ``default``."""
    return pod if "/" in pod else f"{DEFAULT_NAMESPACE}/{pod}"


def _similar(cluster: Cluster, pod: str) -> list[str]:
    """Pods with similar names: of the same namespace, otherwise of any."""
    space, _, name = pod.rpartition("/")
    pods = cluster.pods
    known = {pods.key(row): pods.name[row] for row in pods.rows().tolist()}
    here = {key: known[key] for key in known if key.startswith(f"{space}/")}
    for among in (here, known):
        if found := nearest(name, among.values()):
            keys = [next(key for key in among if among[key] == each) for each in found]
            return keys if space else found
    return []


def _rows_named(cluster: Cluster, pod: str) -> Iterator[int]:
    """Rows of all pods to which a name may refer."""
    space, _, name = pod.rpartition("/")
    pods, at = cluster.pods, 0
    while True:
        try:
            at = pods.name.index(name, at, pods.length)
        except ValueError:
            return
        if not space or pods.namespace[at] == space:
            yield at
        at += 1
