"""One place per outside thing; each implements a port of ``shared.ports`` or speaks a wire format."""
