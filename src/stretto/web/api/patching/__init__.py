"""Patches on objects with the messages of kube-apiserver."""
