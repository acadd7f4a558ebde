"""The composition root.

Connects the parts of a scheduler over one store, and defines the order of a step.

Only this folder connects the parts. It makes no scheduling decisions.
"""
