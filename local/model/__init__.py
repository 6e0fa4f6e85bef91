"""The local model: a loopback server on the Bedrock Runtime wire, with exchangeable sources behind it."""
