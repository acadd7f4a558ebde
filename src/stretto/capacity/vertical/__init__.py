"""Requests of containers from their measured use, as the Vertical Pod Autoscaler computes them.

Nothing here changes the requests of pods.
"""
