"""The whole product on one machine: local cloud, streaming gateway, local model, terminal chat."""
