"""Admission configured by objects of the cluster: policies and webhooks."""
