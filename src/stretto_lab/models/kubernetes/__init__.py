"""Rules of Kubernetes for inputs that the product does not have: Object and External metrics.

The replicas from metrics of pods are in ``stretto.capacity.scaling``.
"""
