"""A real Kubernetes control plane for tests and benches, on loopback, from pinned sources.

Lives here: which programs and which versions (``modules`` holds their Go module
files), how they are built, and the control plane that starts, kills and stops them.
Must not: be imported by product code, download anything but Go modules and the
toolchain, or leave a process behind.
"""
