"""The Kubernetes API as functions from requests to responses. Only ``web.http`` has sockets."""
