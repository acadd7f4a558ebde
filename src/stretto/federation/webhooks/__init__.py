"""Scheduler webhooks: plugins that run on other servers, in KubeAdmiral's protocol."""
