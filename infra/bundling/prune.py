"""What a function never imports, and so need not carry."""

import shutil
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Final

ALSO_LOADED: Final = ("bedrock",)
"""AWS services beside those of :mod:`shared.adapters.aws`: langchain-aws asks this one for a profile's model."""

# Removed wherever they are. Metadata stays: packages read their own version from it when they are imported.
_EVERYWHERE: Final = ("**/__pycache__", "**/tests", "**/*.pyi", "**/*.pyx", "**/*.h", "*.dist-info/RECORD")

_UNASKED: Final = {
    # langchain-aws lists it for its vector stores and imports it nowhere else; the check of the bundle proves it.
    "numpy": ("numpy", "numpy.libs", "numpy-*.dist-info"),
}
"""Packages that others bring, and that nobody imports who does not ask for them by name, to their files."""

_UNUSED: Final = {
    "bin": "command lines",
    "html_to_markdown/bin": "another, of 14 MB",
    # zstandard has two engines and takes the C one on CPython.
    "zstandard/_cffi*": "the engine of other Pythons",
    "zstandard/backend_cffi.py": "its Python half",
    "boto3/data": "descriptions of resource objects; only clients are used",
    "boto3/examples": "documentation",
}
"""Path in the folder to what it would be for."""


def prune(folder: Path, services: Iterable[str], asked_for: Collection[str] = ()) -> None:
    """Remove from installed packages what is never imported.

    Parameters
    ----------
    folder : Path
        Where the packages are.
    services : iterable of str
        The AWS services whose descriptions botocore must keep.
    asked_for : collection of str
        The packages that the function's group names.
    """
    unasked = (pattern for package, files in _UNASKED.items() if package not in asked_for for pattern in files)
    for pattern in (*_EVERYWHERE, *_UNUSED, *unasked):
        _remove_all(folder.glob(pattern))
    kept = {*services, *ALSO_LOADED}
    _remove_all(folder.glob("botocore/data/*"), unless=lambda path: path.is_file() or path.name in kept)


def _remove_all(paths: Iterable[Path], unless: Callable[[Path], bool] = lambda _path: False) -> None:
    for path in sorted(paths):
        if unless(path) or not path.exists():
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
