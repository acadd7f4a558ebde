"""Kinds of KubeAdmiral: policies and clusters, objects of the controllers, annotations."""
