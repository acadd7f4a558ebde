"""Defaults by type, as kube-apiserver sets them when it decodes an object."""
