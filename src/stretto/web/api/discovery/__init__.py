"""Discovery: version, groups, resources, health and OpenAPI of the server."""
