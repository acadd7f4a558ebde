"""Authorization: RBAC from the API's own objects, and reviews of it."""
