"""The memory API starts fast: what it does not need, its bundle does not hold."""

import subprocess
import sys

PROBE = """
import sys
import functions.memory_api.app
loaded = {name.partition(".")[0] for name in sys.modules}
print(sorted(loaded & {"langchain_core", "langgraph", "langchain_aws", "httpx", "numpy", "pypdfium2"}))
"""


def test_it_imports_no_langchain():
    seen = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)  # noqa: S603
    assert seen.stdout.strip() == "[]"
