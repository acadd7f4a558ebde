"""The verbs of the API, one module for each, as functions of a call."""
