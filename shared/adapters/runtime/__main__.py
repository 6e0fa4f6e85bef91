"""Run a handler with response streaming."""

import sys

from shared.adapters.runtime.client import main

if __name__ == "__main__":
    main(sys.argv)
