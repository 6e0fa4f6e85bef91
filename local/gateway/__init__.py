"""What API Gateway does for the routes that stream, on loopback.

The local cloud serves everything but streaming integrations. This gateway stands before it: streaming routes go to
the real function in processes of its own, behind the Lambda Runtime API; all others are passed on.
"""
