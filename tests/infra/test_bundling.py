"""Bundles: what goes in, what stays out, and that they start where they are to run."""

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from infra.bundling import build, lambda_target, local_target
from infra.bundling.bundle import ROOT
from infra.bundling.check import BundleError, check, size_of
from infra.bundling.prune import ALSO_LOADED, prune
from infra.bundling.targets import LAMBDA_MACHINE, LAMBDA_PYTHON, Target, find_python
from infra.functions import FUNCTIONS
from shared.adapters import aws

PYTHON_3_13 = find_python(LAMBDA_PYTHON)


def write(path: Path, content: str | bytes = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


class TestPruning:
    def test_of_the_sdk_only_the_services_that_are_called_stay(self, tmp_path: Path) -> None:
        for service in ("dynamodb", "ec2", *ALSO_LOADED):
            write(tmp_path / "botocore/data" / service / "2012-08-10/service-2.json.gz")
        write(tmp_path / "botocore/data/endpoints.json")

        prune(tmp_path, ["dynamodb"])

        assert files(tmp_path) == {
            "botocore/data/endpoints.json",
            "botocore/data/dynamodb/2012-08-10/service-2.json.gz",
            "botocore/data/bedrock/2012-08-10/service-2.json.gz",
        }

    def test_numpy_tests_and_stubs_go_and_metadata_stays(self, tmp_path: Path) -> None:
        """Packages read their own version from METADATA when they are imported."""
        for name in (
            "numpy/__init__.py",
            "numpy.libs/libopenblas.so",
            "certifi/tests/test_it.py",
            "orjson/__init__.pyi",
            "bin/httpx",
            "httpx-0.28.1.dist-info/RECORD",
        ):
            write(tmp_path / name)
        kept = {"httpx/__init__.py", "httpx-0.28.1.dist-info/METADATA"}
        for name in kept:
            write(tmp_path / name)

        prune(tmp_path, [])

        assert files(tmp_path) == kept

    def test_numpy_stays_where_a_function_asks_for_it(self, tmp_path: Path) -> None:
        write(tmp_path / "numpy/__init__.py")

        prune(tmp_path, [], {"numpy", "pydantic"})

        assert files(tmp_path) == {"numpy/__init__.py"}

    def test_every_service_that_has_a_client_is_kept(self) -> None:
        assert {"dynamodb", "bedrock-runtime", "events", "sqs"} <= set(aws.SERVICES)


class TestTargets:
    def test_the_running_python_is_found(self) -> None:
        here = f"{sys.version_info.major}.{sys.version_info.minor}"
        assert find_python(here) == Path(sys.executable)

    def test_a_python_that_is_not_there_is_not_found(self) -> None:
        assert find_python("3.2") is None

    def test_a_python_behind_a_shim_that_refuses_is_found(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        there = write(tmp_path / "versions/3.2.6/bin/python3.2", "#!/bin/sh\necho 3.2\n")
        shim = write(tmp_path / "shims/python3.2", "#!/bin/sh\nexit 127\n")
        for script in (there, shim):
            script.chmod(0o755)
        monkeypatch.setenv("PATH", f"{shim.parent}:{os.environ['PATH']}")
        monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "elsewhere"))

        assert find_python("3.2") == there

    def test_what_is_no_python_is_no_target(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            local_target(tmp_path / "python")


class TestCheck:
    @pytest.fixture
    def here(self) -> Target:
        return local_target()

    def test_a_bundle_that_lacks_a_package_does_not_pass(self, tmp_path: Path, here: Target) -> None:
        """The interpreter sees the bundle and nothing else: pydantic is installed here, but not in there."""
        write(tmp_path / "functions/purge/handler.py", "import pydantic")

        with pytest.raises(BundleError, match="No module named 'pydantic'"):
            check(tmp_path, "purge", here)

    def test_a_function_starts_with_its_settings_and_no_credentials(self, tmp_path: Path, here: Target) -> None:
        write(
            tmp_path / "functions/purge/handler.py",
            "import os\nassert os.environ['MEMORY_TABLE'] and 'PATH' not in os.environ",
        )

        assert check(tmp_path, "purge", here) is not None

    @pytest.mark.parametrize("over", [0, 1])
    def test_a_bundle_that_lambda_would_not_take_does_not_pass(self, tmp_path: Path, here: Target, over: int) -> None:
        write(tmp_path / "functions/purge/handler.py")
        with (tmp_path / "large").open("wb") as sparse:
            sparse.truncate(250 * 1024 * 1024 + over)

        if over:
            with pytest.raises(BundleError, match="Lambda takes"):
                check(tmp_path, "purge", here)
        else:
            check(tmp_path, "purge", here)

    def test_a_wheel_of_another_machine_does_not_pass(self, tmp_path: Path, here: Target) -> None:
        foreign = b"\x7fELF" + bytes(14) + (0x3E).to_bytes(2, "little")
        write(tmp_path / "pydantic_core.so", foreign)

        with pytest.raises(BundleError, match=f"Not for {LAMBDA_MACHINE}"):
            check(tmp_path, "purge", dataclasses.replace(here, platform="aarch64-manylinux_2_28"))


@pytest.mark.timeout(300)
class TestBundles:
    """Real ones: they install from the locks, so they take a while the first time."""

    @pytest.mark.parametrize("function", FUNCTIONS)
    def test_a_bundle_starts_here(self, function: str) -> None:
        bundle = build(function, local_target())

        assert (bundle.folder / "functions" / function / "handler.py").is_file()
        others = {path.name for path in (bundle.folder / "functions").iterdir() if path.is_dir()}
        assert others - {"__pycache__"} == {function}, "a function is deployed alone"

    def test_a_second_build_changes_nothing(self) -> None:
        first = build("kb_ingest", local_target())
        made = first.folder.stat().st_ctime_ns

        assert build("kb_ingest", local_target()) == first
        assert first.folder.stat().st_ctime_ns == made

    @pytest.mark.skipif(PYTHON_3_13 is None, reason="no Python 3.13 on this machine")
    @pytest.mark.parametrize("function", FUNCTIONS)
    def test_a_bundle_starts_on_the_deployed_python(self, function: str) -> None:
        target = dataclasses.replace(local_target(PYTHON_3_13), name=f"local-{LAMBDA_PYTHON}")
        bundle = build(function, target)
        assert list((bundle.folder / "shared").rglob("settings.cpython-313.pyc"))

    @pytest.mark.parametrize("function", FUNCTIONS)
    def test_what_is_uploaded_is_for_arm_and_within_lambdas_limit(self, function: str) -> None:
        bundle = build(function, lambda_target())

        assert size_of(bundle.folder) < 250 * 1024 * 1024
        compiled = list(bundle.folder.rglob("*.so"))
        assert compiled
        assert not [path for path in compiled if path.read_bytes()[18:20] != b"\xb7\0"]

    def test_what_is_uploaded_is_for_arm_and_keeps_its_bootstrap(self) -> None:
        """``build`` has checked size and machine of every compiled wheel."""
        bundle = build("chat", lambda_target())

        assert list(bundle.folder.glob("pydantic_core/*aarch64-linux-gnu.so"))
        bootstrap = bundle.folder / "functions/chat/bootstrap"
        assert os.access(bootstrap, os.X_OK)
        if PYTHON_3_13:
            assert list((bundle.folder / "langgraph").rglob("*.cpython-313.pyc"))


def test_bytecode_is_used_whatever_the_time_of_its_source(tmp_path: Path) -> None:
    """Uploads do not keep times: bytecode that looks at them would be made again at every start."""
    from infra.bundling.bundle import _compile

    source = write(tmp_path / "module.py", "answer = 1")
    _compile(tmp_path, tmp_path, local_target())
    source.write_text("answer = 2", encoding="utf-8")
    os.utime(source, (0, 0))

    done = subprocess.run(  # noqa: S603 - this Python
        [
            sys.executable,
            "-I",
            "-c",
            f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import module; print(module.answer)",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "1"


def test_locks_and_npm_lock_name_no_registry() -> None:
    locks = [*ROOT.glob("requirements/*.txt"), ROOT / "package-lock.json"]
    assert len(locks) > len(FUNCTIONS)
    for lock in locks:
        text = lock.read_text(encoding="utf-8")
        assert "https://" not in text, lock
        assert "--index-url" not in text, lock


def pins(lock: str) -> set[str]:
    lines = (ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8").splitlines()
    return {line.split(" ")[0] for line in lines if re.match(r"[\w.-]+==", line)}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_is_deployed_with_the_versions_that_are_tested(function: str) -> None:
    deployed = pins(function.replace("_", "-"))
    assert deployed
    assert deployed <= pins("dev")


def test_the_tool_that_installs_everything_is_pinned_by_hashes(tmp_path: Path) -> None:
    """``requirements/environment`` reads the pin from the lock; here a uv that writes down what it is asked for."""
    asked = tmp_path / "asked"
    uv = write(
        tmp_path / "bin/uv",
        """#!/bin/sh
        echo "$@" >>"$ASKED"
        for last in "$@"; do :; done
        [ "$1" = pip ] && cat "$last" >>"$ASKED"
        exit 0
        """,
    )
    uv.chmod(0o755)

    subprocess.run(  # noqa: S603 - this tree's script
        [ROOT / "requirements" / "environment", tmp_path / "venv"],
        check=True,
        env={"PATH": f"{uv.parent}:/usr/bin:/bin", "ASKED": str(asked)},
    )

    text = asked.read_text(encoding="utf-8")
    [pin] = [line for line in pins("dev") if line.startswith("uv==")]
    assert "--require-hashes" in text
    assert [line for line in text.splitlines() if re.match(r"[\w-]+==", line)] == [f"{pin} \\"]
    assert "--hash=sha256:" in text


def test_the_chat_searches_documents_and_carries_no_parser() -> None:
    carried = {pin.split("==")[0] for pin in pins("chat")}
    assert "numpy" in carried
    assert carried.isdisjoint({"firecrawl-anydoc", "html-to-markdown", "pdf-inspector", "pypdfium2"})
