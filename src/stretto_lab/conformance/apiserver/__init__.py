"""Replays of recorded sessions of a kube-apiserver against the API server of this project."""
