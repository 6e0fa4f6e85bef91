import json
import subprocess
import sys

import pytest

SLOW = ("langchain_core", "langgraph", "langchain_aws", "boto3", "fastapi")

# What the memory API is made of; it answers from rows and must start fast.
FOR_MEMORY_API = ["ids", "errors", "namespaces", "summary", "profile", "patch", "threads"]
PURE_OF_LANGCHAIN = [*FOR_MEMORY_API, "refs", "values", "window", "prompt", "content", "claims", "events"]


def loaded_by(*modules: str) -> set[str]:
    """The top-level packages an interpreter of its own has loaded after importing these modules."""
    names = ", ".join(f"shared.domain.{module}" for module in modules)
    script = f"import json, sys, {names}; print(json.dumps(sorted({{name.partition('.')[0] for name in sys.modules}})))"
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True)  # noqa: S603
    return set(json.loads(done.stdout))


def test_what_the_memory_api_reads_loads_no_langchain() -> None:
    loaded = loaded_by(*FOR_MEMORY_API)
    assert "shared" in loaded
    assert not loaded & set(SLOW)


@pytest.mark.parametrize("module", PURE_OF_LANGCHAIN)
def test_each_module_alone_loads_no_langchain(module: str) -> None:
    assert not loaded_by(module) & set(SLOW)


def test_messages_are_langchain_s() -> None:
    # The check above can fail.
    assert "langchain_core" in loaded_by("turns")
    assert not loaded_by("turns", "history") & {"langgraph", "langchain_aws", "boto3"}
