"""kube-scheduler's default plugins, one file each, under their upstream names.

They run under the `kube-parity` profile. Plugins do not import one another.
"""
