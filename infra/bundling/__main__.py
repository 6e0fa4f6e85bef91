"""``python -m infra.bundling [--target lambda|local] [--python PATH] [function …]``."""

import argparse
import sys
from pathlib import Path

from infra.bundling import LAMBDA, LOCAL, bundles
from infra.bundling.check import BundleError, size_of
from infra.functions import FUNCTIONS


def main() -> int:
    """Build the bundles that were asked for and say how large they are."""
    parser = argparse.ArgumentParser(prog="python -m infra.bundling", description=__doc__)
    parser.add_argument("--target", choices=[LAMBDA, LOCAL], default=LAMBDA)
    parser.add_argument("--python", type=Path, help="for --target local: the Python that runs the bundles")
    parser.add_argument("functions", nargs="*", metavar="function", help=f"of {', '.join(FUNCTIONS)}; all by default")
    arguments = parser.parse_args()
    unknown = set(arguments.functions) - set(FUNCTIONS)
    if unknown:
        parser.error(f"no such function: {', '.join(sorted(unknown))}")
    build = bundles(arguments.target, arguments.python)
    try:
        for function in arguments.functions or FUNCTIONS:
            bundle = build(function)
            sys.stdout.write(f"{bundle.folder}  {size_of(bundle.folder) / 1e6:.1f} MB  {bundle.content_hash[:16]}\n")
    except BundleError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
