"""A Kubernetes API server (etcd behind it) as the store.

Lives here: the way in (kubeconfig, service accounts), the HTTP line with its lanes
and its patience, what answers mean, lists, watches, writes, and the store on top.
All waiting happens on an event loop in a thread of its own; callers are synchronous.
Must not: decide anything about scheduling, or let an HTTP library's error out.
"""
