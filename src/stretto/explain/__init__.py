"""Explanations: why a pod is pending, what would make it fit, and how it got to its node.

`explain` reads state, framework and views of `control`; it changes nothing.
"""
