"""The laboratory of Stretto: benches, conformance, the fault simulator and studies.

It tests and measures the product; production installs do not need it.
"""
