"""Expressions in CEL that objects of the API contain: their variables, types and checks."""
