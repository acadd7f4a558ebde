"""The verbs of the API, one module per verb, as functions of a call."""
