"""What is uploaded as the functions' code, made without Docker.

A bundle is a folder ``build/<target>/<function>/``: the pinned dependencies of the function's group for the machine
that will run it, less what is never imported there, then ``shared/`` and the function's package, all of it compiled.
The hash of what goes in decides whether anything has to be done, so a second build does nothing.
"""

from infra.bundling.bundle import BUILD, Bundle, build, bundles
from infra.bundling.targets import LAMBDA, LOCAL, Target, lambda_target, local_target

__all__ = ["BUILD", "LAMBDA", "LOCAL", "Bundle", "Target", "build", "bundles", "lambda_target", "local_target"]
