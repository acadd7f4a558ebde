"""Write the roles and bindings that a fresh kube-apiserver makes: ``bootstrap.jsonl``.

Usage: scripts/kube_rights.py OUT. Labels and annotations that all of them have are left out.
"""

import json
import sys
from pathlib import Path
from typing import Any

from stretto_lab.control_plane.cluster import ControlPlane

RESOURCES = ("clusterroles", "clusterrolebindings", "roles", "rolebindings")
COMMON = "kubernetes.io/bootstrapping"


def entry(resource: str, item: dict[str, Any]) -> list[Any]:
    """One line: resource, namespace, name, labels and the rest of the object."""
    metadata = item["metadata"]
    labels = {key: each for key, each in metadata["labels"].items() if key != COMMON}
    rest = {key: each for key, each in item.items() if key != "metadata" and each is not None}
    return [resource, metadata.get("namespace", ""), metadata["name"], labels, rest]


def main(out: Path) -> None:
    """Ask a fresh server and write the file."""
    lines = []
    with ControlPlane() as plane:
        for resource in RESOURCES:
            answer = plane.send("GET", f"/apis/rbac.authorization.k8s.io/v1/{resource}")
            lines += [entry(resource, each) for each in json.loads(answer.body)["items"]]
    text = "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in lines)
    out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
