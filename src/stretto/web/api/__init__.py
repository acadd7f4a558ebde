"""The Kubernetes API as functions from requests to responses; ``web.application`` serves them."""
