"""Explanations: why a pod is pending, what would cure it, and how it got where it is.

`explain` reads state, framework and views of `control`; it changes nothing.
"""
