"""The checkpointer as one run sees it: reads nothing twice, and writes only while the run holds the thread."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)

from shared.domain.errors import LeaseLostError


class TurnSaver(BaseCheckpointSaver[Any]):
    """A checkpointer for one run, on top of the owner's.

    The runner looks at the checkpoint before the graph does; :meth:`load` keeps it, and the graph's own read of the
    same gets it without another request. A subgraph asks for a checkpoint under the id of its task; in a run that
    starts from new input that id is new, so there is nothing to read.

    Parameters
    ----------
    saver : BaseCheckpointSaver
        The owner's checkpointer.
    may_write : callable
        Says whether the run still holds the thread.
    fresh : bool
        Whether the run starts from new input, so that none of its tasks can have a checkpoint yet.
    """

    def __init__(self, saver: BaseCheckpointSaver[Any], *, may_write: Callable[[], bool], fresh: bool) -> None:
        super().__init__(serde=saver.serde)
        self._saver = saver
        self._may_write = may_write
        self._fresh = fresh
        self._loaded: tuple[str | None, CheckpointTuple | None] | None = None
        self._written: set[str] = set()
        self._keeps_agents = True
        self.stored: str | None = None
        """The id of the last checkpoint of the graph itself that this run has stored."""

    def let_agents_go(self) -> None:
        """Store nothing more of subgraphs: the run is being stopped, and nobody will go on inside an agent."""
        self._keeps_agents = False

    async def undo(self, run: str) -> None:
        """Remove the checkpoints of a run; of this one, if it has stored any."""
        await self._saver.adelete_for_runs([run])
        self.stored = None

    def has_read(self, found: CheckpointTuple) -> None:
        """Take a checkpoint that was read already, for the graph's read of it."""
        self._loaded = (_checkpoint_id(found.config), found)

    def begin_empty(self) -> None:
        """Let the graph start from nothing, whatever the thread has: its next read finds no checkpoint."""
        self._loaded = (None, None)

    async def load(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read the checkpoint the run will start from, and keep it for the graph."""
        found = await self._saver.aget_tuple(config)
        self._loaded = (_checkpoint_id(config), found)
        return found

    @property
    def config_specs(self) -> list[Any]:
        """Give the options the checkpointer reads from a config."""
        return cast("list[Any]", self._saver.config_specs)  # pyright: ignore[reportUnknownMemberType]

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read a checkpoint, unless it is known already."""
        namespace = _namespace(config)
        if not namespace:
            loaded, self._loaded = self._loaded, None
            # Given out once: the graph changes what it gets.
            if loaded is not None and loaded[0] == _checkpoint_id(config):
                return loaded[1]
        elif self._fresh and namespace not in self._written and _is_of_tasks(namespace):
            return None
        return await self._saver.aget_tuple(config)

    def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - the base class's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """List checkpoints, newest first."""
        return self._saver.alist(config, filter=filter, before=before, limit=limit)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint.

        Raises
        ------
        LeaseLostError
            When the run does not hold the thread any more.
        """
        self._check()
        namespace = _namespace(config)
        if namespace and not self._keeps_agents:
            return _placed(config, checkpoint["id"])
        stored = await self._saver.aput(config, checkpoint, metadata, new_versions)
        self._written.add(namespace)
        if not namespace:
            self.stored = checkpoint["id"]
        return stored

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote before its step was over. Raises as :meth:`aput` does."""
        self._check()
        namespace = _namespace(config)
        if namespace and not self._keeps_agents:
            return
        self._written.add(namespace)
        await self._saver.aput_writes(config, writes, task_id, task_path)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Read what a delta channel is made of, by the checkpointer's own way."""
        return await self._saver.aget_delta_channel_history(config=config, channels=channels)

    def get_next_version(self, current: Any, channel: None) -> Any:  # noqa: ANN401 - the checkpointer's own kind
        """Give a channel's next version, of the checkpointer's own kind."""
        return self._saver.get_next_version(current, channel)

    def _check(self) -> None:
        if not self._may_write():
            raise LeaseLostError("The run does not hold its thread any more.")


def _configurable(config: RunnableConfig) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", config.get("configurable", {}))


def _namespace(config: RunnableConfig) -> str:
    return str(_configurable(config).get("checkpoint_ns") or "")


def _checkpoint_id(config: RunnableConfig) -> str | None:
    return _configurable(config).get("checkpoint_id")


def _placed(config: RunnableConfig, checkpoint_id: str) -> RunnableConfig:
    return {"configurable": {**_configurable(config), "checkpoint_id": checkpoint_id}}


def _is_of_tasks(namespace: str) -> bool:
    """Say whether each part of a namespace carries a task's id, as against state that a subgraph keeps for itself."""
    return all(":" in part for part in namespace.split("|"))
