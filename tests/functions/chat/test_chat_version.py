import tomllib
from pathlib import Path

from functions.chat.app import VERSION


def test_the_api_says_the_projects_version():
    """The bundle does not hold the project's metadata, so the number stands in the code as well."""
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == VERSION
