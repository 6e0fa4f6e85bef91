"""Building one function's bundle, from a layer of dependencies and the sources in the tree."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from infra.bundling.check import check, size_of
from infra.bundling.prune import prune
from infra.bundling.targets import LAMBDA, Target, find_uv, lambda_target, local_target

ROOT: Final = Path(__file__).resolve().parents[2]
BUILD: Final = ROOT / "build"

_LAYERS: Final = "layers"
_LAYER_KEPT_SECONDS: Final = 7 * 24 * 3600
_NOT_SHIPPED: Final = ("__pycache__", ".DS_Store", "py.typed")


@dataclass(frozen=True, slots=True)
class Bundle:
    """What is uploaded as a function's code.

    Parameters
    ----------
    folder : Path
        Everything that goes into the zip.
    content_hash : str
        Changes when, and only when, what goes in does; CDK need not read the folder to know.
    """

    folder: Path
    content_hash: str


def bundles(target_name: str, interpreter: Path | None = None) -> Callable[[str], Bundle]:
    """Give a function that builds bundles for one target.

    Parameters
    ----------
    target_name : str
        ``lambda`` or ``local``.
    interpreter : Path or None
        For ``local``: the Python that runs them.
    """
    target = lambda_target() if target_name == LAMBDA else local_target(interpreter)
    return partial(build, target=target)


def build(function: str, target: Target) -> Bundle:
    """Build a function's bundle, or find it built.

    Parameters
    ----------
    function : str
        The package under ``functions/``.
    target : Target
        Who is to run it.

    Raises
    ------
    BundleError
        When it would not start there.
    subprocess.CalledProcessError
        When a dependency cannot be installed.
    """
    start = time.monotonic()
    sources = list(_sources(function))
    requirements = ROOT / "requirements" / f"{function.replace('_', '-')}.txt"
    asked_for = _asked_for(requirements.stem)
    what = f"{target.identity} {' '.join(sorted(asked_for))}"
    layer_hash = _hash(what, [requirements, *_python_files(Path(__file__).parent), _clients_module()])
    content_hash = _hash(layer_hash, sources)
    folder = BUILD / target.name / function
    stamp = folder.with_suffix(".hash")
    bundle = Bundle(folder, content_hash)
    if folder.is_dir() and stamp.exists() and stamp.read_text(encoding="utf-8") == content_hash:
        return bundle

    layer = _layer(requirements, layer_hash, target, asked_for)
    stamp.unlink(missing_ok=True)
    with _replacing(folder) as new:
        _link_tree(layer, new)
        for source in sources:
            destination = new / source.relative_to(ROOT)
            destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, destination)
        for package in ("shared", "functions"):
            _compile(new / package, new, target)
        cpu_seconds = check(new, function, target)
    stamp.write_text(content_hash, encoding="utf-8")
    imported = "not imported here" if cpu_seconds is None else f"imports in {cpu_seconds:.2f} CPU-s"
    _say(f"{target.name}/{function}: {size_of(folder) / 1e6:.1f} MB, {imported}, {time.monotonic() - start:.1f} s")
    return bundle


def _layer(requirements: Path, layer_hash: str, target: Target, asked_for: Collection[str]) -> Path:
    """Give the folder with a group's dependencies, installed, pruned and compiled."""
    from shared.adapters import aws

    layer = BUILD / _LAYERS / layer_hash[:16]
    if layer.is_dir():
        layer.touch()
        return layer
    _forget_old_layers()
    if target.interpreter is None:
        _say(f"No Python {target.python_version} on this machine: code is shipped uncompiled and starts more slowly.")
    with _replacing(layer) as new:
        where = ["--python-platform", target.platform] if target.platform else []
        subprocess.run(
            [
                *(find_uv(), "pip", "install", "--quiet", "--target", new, "--requirements", requirements),
                *("--require-hashes", "--only-binary", ":all:", "--no-deps"),
                # Said twice: UV_PYTHON in somebody's environment would choose another.
                *("--python", target.interpreter or sys.executable, "--python-version", target.python_version, *where),
            ],
            check=True,
        )
        prune(new, aws.SERVICES, asked_for)
        _compile(new, new, target)
    return layer


def _forget_old_layers() -> None:
    """Remove the layers of old locks: those that no build has looked at for a while."""
    oldest = time.time() - _LAYER_KEPT_SECONDS
    for layer in (BUILD / _LAYERS).glob("*"):
        if layer.stat().st_mtime < oldest:
            shutil.rmtree(layer, ignore_errors=True)


def _asked_for(group: str) -> set[str]:
    """Give the names of the packages in a dependency group of ``pyproject.toml``."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    return {re.split(r"[^\w.-]", requirement, maxsplit=1)[0] for requirement in groups[group]}


def _sources(function: str) -> Iterator[Path]:
    yield ROOT / "functions" / "__init__.py"
    for package in (ROOT / "shared", ROOT / "functions" / function):
        yield from _files(package)


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not any(part in _NOT_SHIPPED for part in path.parts):
            yield path


def _python_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.py"))


def _clients_module() -> Path:
    return ROOT / "shared" / "adapters" / "aws.py"


def _hash(seed: str, files: Iterable[Path]) -> str:
    digest = hashlib.sha256(seed.encode())
    for path in files:
        name = path.relative_to(ROOT).as_posix()
        mode = "x" if os.access(path, os.X_OK) else "-"
        digest.update(f"\0{name}\0{mode}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _compile(folder: Path, root: Path, target: Target) -> None:
    """Write bytecode that is used without a look at the source: zips and uploads do not keep times."""
    if target.interpreter is None:
        return
    subprocess.run(
        [
            *(target.interpreter, "-I", "-m", "compileall", "-qq", "-j", "0"),
            *("--invalidation-mode", "unchecked-hash", "-s", root, "-p", "/var/task", folder),
        ],
        check=True,
        env={"PYTHONHASHSEED": "0"},
    )


def _link_tree(source: Path, destination: Path) -> None:
    """Copy a tree by hard links; layers are never changed in place."""
    shutil.copytree(source, destination, copy_function=_link, dirs_exist_ok=True)


def _link(source: str, destination: str) -> None:
    try:
        os.link(source, destination)
    except OSError:
        shutil.copy2(source, destination)


@contextmanager
def _replacing(folder: Path) -> Generator[Path, None, None]:
    """Give an empty folder that takes another's place when all went well, and is removed when not."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as scratch:
        new = Path(scratch, "new")
        new.mkdir()
        yield new
        if folder.exists():
            folder.rename(Path(scratch, "old"))
        new.rename(folder)


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
