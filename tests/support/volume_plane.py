"""Planes whose pods have volumes, in virtual time over a memory store."""

from typing import Any

import msgspec

from stretto.api.wire.kinds import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM, STORAGE_CLASS, Kind
from stretto.testing import Harness, make_pod

WAIT = "WaitForFirstConsumer"
HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


class Site(Harness):
    """A cluster with volumes."""

    def define(self, kind: Kind, name: str, **fields: Any) -> None:
        meta = {"name": name, **fields.pop("metadata", {})}
        if kind is PERSISTENT_VOLUME_CLAIM:
            meta["namespace"] = "default"
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, **fields}
        assert self.store.create(kind, [msgspec.json.encode(body)])[0].record is not None

    def storage_class(self, name: str, made: bool = False, mode: str = WAIT) -> None:
        provisioner = "csi.example.com" if made else "kubernetes.io/no-provisioner"
        self.define(STORAGE_CLASS, name, provisioner=provisioner, volumeBindingMode=mode)

    def volume(
        self, name: str, key: str = "", value: str = "", size: str = "10Gi", **m: Any
    ) -> None:
        spec: dict[str, Any] = {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": m.get("of", "local"),
        }
        if key:
            term = {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
        if "driver" in m:
            spec["csi"] = {"driver": m["driver"], "volumeHandle": name}
        meta = {"labels": m.get("labels", {})}
        self.define(
            PERSISTENT_VOLUME, name, metadata=meta, spec=spec, status={"phase": "Available"}
        )

    def claim(self, name: str, of: str = "local", size: str = "5Gi", **m: Any) -> None:
        spec: dict[str, Any] = {
            "accessModes": [m.get("mode", "ReadWriteOnce")],
            "storageClassName": of,
            "resources": {"requests": {"storage": size}},
        }
        notes = {}
        if "bound" in m:
            spec["volumeName"] = m["bound"]
            notes = {"pv.kubernetes.io/bind-completed": "yes"}
        self.define(PERSISTENT_VOLUME_CLAIM, name, metadata={"annotations": notes}, spec=spec)

    def holder(self, volume: str) -> str:
        record = self.store.get(PERSISTENT_VOLUME, "", volume)
        assert record is not None
        return str(msgspec.json.decode(record.body)["spec"].get("claimRef", {}).get("name", ""))


def using(name: str, *claims: str, **more: Any) -> bytes:
    volumes = [
        {"name": f"v{i}", "persistentVolumeClaim": {"claimName": claim}}
        for i, claim in enumerate(claims)
    ]
    return make_pod(name, spec={"volumes": volumes}, **more)
