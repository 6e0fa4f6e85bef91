"""The deployed chat function with one more agent: its bundle, a module added among the agents."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from local.gateway.environment import FunctionCode

_AGENTS = Path(__file__).parent / "agents"


def with_agent(name: str, folder: Path) -> Callable[[FunctionCode], FunctionCode]:
    """Give what runs in a function's place: the same bundle, in ``folder``, where only this agent is enabled."""

    def run(code: FunctionCode) -> FunctionCode:
        task_root = folder / f"{code.task_root.name}-with-{name}"
        shutil.copytree(code.task_root, task_root, copy_function=os.symlink)
        shutil.copy(_AGENTS / f"{name}.py", task_root / "shared/graphs/agent/agents")
        return replace(
            code,
            task_root=task_root,
            wrapper=task_root / code.wrapper.relative_to(code.task_root),
            environment={**code.environment, "AGENTS": name},
        )

    return run
