"""What the server says about itself: version, groups, resources, health, OpenAPI."""
