"""Certificates that have signed themselves, or that another has signed, made by openssl."""

import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from stretto.daemons.probes import ServingCertificate


def self_signed(folder: Path, name: str, extensions: Iterable[str] = ()) -> ServingCertificate:
    """A certificate of that common name and its key, as files; extensions as openssl has them."""
    return _made(folder, name, extensions)


def signed(
    folder: Path, name: str, by: ServingCertificate, extensions: Iterable[str] = ()
) -> ServingCertificate:
    """The same, signed by another."""
    return _made(folder, name, extensions, ["-CA", str(by.cert), "-CAkey", str(by.key)])


def _made(
    folder: Path, name: str, extensions: Iterable[str], more: Sequence[str] = ()
) -> ServingCertificate:
    pair = ServingCertificate(folder / f"{name}.crt", folder / f"{name}.key")
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    words += ["-nodes", "-subj", f"/CN={name}", "-out", str(pair.cert), "-keyout", str(pair.key)]
    for extension in extensions:
        words += ["-addext", extension]
    subprocess.run([*words, *more], check=True, capture_output=True)
    return pair
