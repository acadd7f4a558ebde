"""Rules of single kinds: autoscalers, and Services with their endpoints."""
