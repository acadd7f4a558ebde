"""Recorded results of Kubernetes, Koordinator, Katalyst and Volcano, for the capacity models.

Here belong the form of the recordings and one adapter per model. Models do not.
"""
