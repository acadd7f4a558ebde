"""Pods and gangs of an input, and short ways to write its objects."""

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import yaml

from stretto.api.edit.skipped import SkippedObjects
from stretto.api.wire.kinds import POD, POD_GROUP
from stretto.inputs.objects.manifests import load_objects

GROUP = "godel.bytedance.com/pod-group-name"
SPEC: dict[str, Any] = {"containers": [{"name": "c", "image": "x"}]}
TEMPLATE: dict[str, Any] = {"metadata": {"labels": {"app": "x"}}, "spec": SPEC}


class Loaded:
    """The pods and gangs of an input."""

    def __init__(self, folder: Path, *objects: dict[str, Any]) -> None:
        (folder / "app.yaml").write_text(yaml.safe_dump_all(objects))
        self.skipped = SkippedObjects()
        found = load_objects([folder / "app.yaml"], skipped=self.skipped)
        self.pods = [msgspec.json.decode(each.body) for each in found if each.kind is POD]
        self.gangs = {
            each.name: msgspec.json.decode(each.body)["spec"]["minMember"]
            for each in found
            if each.kind is POD_GROUP
        }
        self.others = [each.kind.kind for each in found if each.kind not in (POD, POD_GROUP)]

    @property
    def names(self) -> list[str]:
        return [each["metadata"]["name"] for each in self.pods]

    @property
    def members(self) -> Counter[str]:
        return Counter(each["metadata"].get("annotations", {}).get(GROUP) for each in self.pods)


def made(version: str, kind: str, spec: dict[str, Any], **meta: Any) -> dict[str, Any]:
    metadata = {"name": "job", **meta}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def pod(name: str, **meta: Any) -> dict[str, Any]:
    return made("v1", "Pod", SPEC, **{**meta, "name": name})
