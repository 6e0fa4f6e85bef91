"""The data stack and the service stack."""
