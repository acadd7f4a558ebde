"""Admission that objects of the cluster configure: policies and webhooks."""
