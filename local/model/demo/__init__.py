"""The default source: offline, deterministic, and honest about being no language model."""
