"""What a cold start costs: CPU seconds to import each function's handler, and the bytes that are uploaded.

    python -m bench.cold_start [--runs 5] [function ...]

The import is timed in an isolated interpreter that sees the bundle and nothing else, on a bundle built for this
machine's Python. A Lambda of 1,769 MB has one vCPU, so CPU seconds are roughly seconds there. Sizes are of the bundle
that is deployed.
"""

import argparse
import io
import os
import zipfile
from pathlib import Path
from statistics import median

from infra.bundling import LAMBDA, build, bundles, local_target
from infra.bundling.check import check, size_of
from infra.functions import FUNCTIONS


def zipped(folder: Path) -> int:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder))
    return packed.getbuffer().nbytes


def main() -> None:
    parser = argparse.ArgumentParser(description="What a cold start costs.")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("functions", nargs="*", default=list(FUNCTIONS))
    arguments = parser.parse_args()
    target = local_target()
    print(
        f"Python {target.python_version}, {os.cpu_count()} CPUs, {arguments.runs} imports each, after one to warm up."
    )
    print("function     import CPU-s: best  median   unzipped MB  zipped MB")
    for function in arguments.functions:
        local = build(function, target).folder
        check(local, function, target)
        seconds = [check(local, function, target) or 0.0 for _ in range(arguments.runs)]
        deployed = bundles(LAMBDA)(function).folder
        print(
            f"{function:<12} {min(seconds):>18.2f} {median(seconds):>7.2f}"
            f" {size_of(deployed) / 1e6:>13.1f} {zipped(deployed) / 1e6:>10.1f}"
        )


if __name__ == "__main__":
    main()
