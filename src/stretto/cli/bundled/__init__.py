"""What comes with the package: example scenarios and pages of the documentation."""
