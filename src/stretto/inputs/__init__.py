"""Inputs of a plane: scenarios, manifests, recordings and published traces.

`inputs` builds objects; it imports neither stores nor the state.
"""
