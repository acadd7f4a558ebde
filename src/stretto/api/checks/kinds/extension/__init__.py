"""Rules of kinds that extend the API: definitions, webhooks, policies, API services, devices."""
