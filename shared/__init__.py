"""Everthread's library: domain rules, ports, services, adapters and graphs, from the inside out."""
