"""CustomResourceDefinitions: served resources, lifecycle and objects."""
