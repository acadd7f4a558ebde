"""The laws that the fault simulator checks after every step."""
