"""Recorded results of Kubernetes, Koordinator, Katalyst and Volcano, for the capacity models.

This package contains the form of the recordings and one adapter per model. It does not contain the
models.
"""
