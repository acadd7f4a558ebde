"""Files of the package: example scenarios and pages of the documentation."""
