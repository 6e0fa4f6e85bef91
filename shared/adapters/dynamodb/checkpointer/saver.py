"""LangGraph's view of the log."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from shared.adapters.aws import in_thread
from shared.adapters.dynamodb.checkpointer.cache import Cache, process_cache
from shared.adapters.dynamodb.checkpointer.composing import Draft
from shared.adapters.dynamodb.checkpointer.copying import copy_thread
from shared.adapters.dynamodb.checkpointer.history import delta_histories
from shared.adapters.dynamodb.checkpointer.keys import ROOT, Place
from shared.adapters.dynamodb.checkpointer.reader import Found, Loaded, Reader
from shared.adapters.dynamodb.checkpointer.removal import Removal
from shared.adapters.dynamodb.checkpointer.table import CheckpointTable, Pause, jittered_pause
from shared.adapters.dynamodb.checkpointer.values import Packed, deserialize
from shared.adapters.dynamodb.checkpointer.writer import Writer
from shared.domain.errors import CorruptCheckpointError, InvalidInputError
from shared.domain.ids import UserId
from shared.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

LEASE: Final = "lease_number"
"""Where a run's lease number stands in ``configurable``."""


class DynamoDBSaver(BaseCheckpointSaver[int]):
    """A checkpointer that appends to a log: what a turn costs does not grow with the thread.

    It reaches the threads of one owner and of nobody else. Every read is consistent.

    A checkpoint stores what it adds to its parent: new elements of lists, changed values of other channels. Every so
    many checkpoints one says everything again, by reference to compressed segments that are written once. So a turn
    that is stored at its end (``durability="exit"``) takes three requests, and loading a thread takes one, or two for
    a long thread that this process has not met before.

    Two runs that follow the same checkpoint become branches, and the newer one is the thread's head. A run that says
    the number of its lease in ``configurable["lease_number"]`` is refused once a run with a higher number has
    written.

    Parameters
    ----------
    client : DynamoDBClient
        A low-level client.
    table_name : str
        The checkpoint table.
    owner : str
        Whose threads these are.
    serde : SerializerProtocol, optional
        Serializes values. By default msgpack with LangGraph's list of safe types; :meth:`with_allowlist` adds some.
    cache : Cache, optional
        What the process keeps; by default one for all savers.
    keep_for : timedelta, optional
        How long a checkpoint is kept after it was written. What a thread's newest checkpoint needs is kept as long
        as that one.
    clock : Clock, optional
        Tells what has expired; the system's unless told otherwise.
    pause : callable
        Waits between tries of what DynamoDB leaves unprocessed.

    Examples
    --------
    >>> saver = checkpointer_for(client, "checkpoints", owner=user)  # doctest: +SKIP
    >>> graph = builder.compile(checkpointer=saver)  # doctest: +SKIP
    >>> await graph.ainvoke(turn, {"configurable": {"thread_id": thread}}, durability="exit")  # doctest: +SKIP
    """

    def __init__(
        self,
        client: "DynamoDBClient",
        table_name: str,
        owner: str,
        *,
        serde: SerializerProtocol | None = None,
        cache: Cache | None = None,
        keep_for: timedelta | None = None,
        clock: Clock | None = None,
        pause: Pause = jittered_pause,
    ) -> None:
        super().__init__(serde=serde or JsonPlusSerializer(allowed_msgpack_modules=None))
        self._owner = owner
        self._table = CheckpointTable(client, table_name, clock=clock, pause=pause)
        cache = cache or process_cache()
        self._reader = Reader(self._table, cache)
        self._writer = Writer(self._table, cache, self._reader, keep_for=keep_for)
        self._removal = Removal(self._table, cache, self._reader)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Load a checkpoint: the one ``config`` names, else the newest of its namespace; ``None`` when there is none.

        Raises
        ------
        CorruptCheckpointError
            When it cannot be read as it was written. There is never a shorter history in its place.
        StoreError
            When the database cannot answer.
        """
        place, namespace = self._place(config), _namespace(config)
        checkpoint = get_checkpoint_id(config)
        if checkpoint:
            loaded = self._reader.exact(place, namespace, checkpoint)
        else:
            loaded = self._reader.newest(place, namespace)
        if loaded is None:
            return None
        self._reader.footprint(place, loaded)
        return self._tuple(place, loaded)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Give checkpoints of a thread, the newest first.

        Parameters
        ----------
        config : RunnableConfig
            Names the thread; also the namespace, or all of them; also one checkpoint, or all of them.
        filter : dict, optional
            What their metadata must hold.
        before : RunnableConfig, optional
            Names a checkpoint; only older ones are given.
        limit : int, optional
            How many are given at most.

        Raises
        ------
        InvalidInputError
            When no thread is named: the threads of an owner are not listed here.
        CorruptCheckpointError
            When one cannot be read as it was written.
        """
        if config is None:
            raise InvalidInputError("Checkpoints are listed thread by thread.")
        place = self._place(config)
        namespace = config.get("configurable", {}).get("checkpoint_ns")
        only = get_checkpoint_id(config)
        until = get_checkpoint_id(before) if before else None
        left = limit
        for found in self._reader.history(place, namespace, until):
            if left is not None and left <= 0:
                return
            if only and found.checkpoint != only:
                continue
            if filter and not self._fits(place, found, filter):
                continue
            left = None if left is None else left - 1
            yield self._tuple(place, found.load())

    def children(self, config: RunnableConfig) -> Iterator[CheckpointTuple]:
        """Give the checkpoints that follow one, the newest first. Only these are put together, however many are newer.

        Parameters
        ----------
        config : RunnableConfig
            Names the thread and the checkpoint; without a checkpoint, what follows none is given.

        Raises
        ------
        CorruptCheckpointError
            When one cannot be read as it was written.
        """
        place, parent = self._place(config), get_checkpoint_id(config) or None
        for found in self._reader.history(place, _namespace(config)):
            if found.checkpoint == parent:
                # What follows it is newer.
                return
            if (found.record.parent or None) == parent:
                yield self._tuple(place, found.load())

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint as the child of the one ``config`` names.

        Raises
        ------
        LeaseLostError
            When the thread is deleted, or a run with a higher lease number has written. Nothing is left behind.
        StoreError
            When the database cannot answer; the thread reads as before, or as after.
        """
        place, namespace = self._place(config), _namespace(config)
        kept_metadata: dict[str, Any] = {**get_checkpoint_metadata(config, metadata)}
        kept_metadata.pop(LEASE, None)
        run = kept_metadata.get(_RUN)
        run = kept_metadata.pop(_RUN) if isinstance(run, str) and run else None
        head = {name: value for name, value in checkpoint.items() if name not in _STORED_APART}
        draft = Draft(
            checkpoint=checkpoint["id"],
            parent=get_checkpoint_id(config) or None,
            head=self.serde.dumps_typed(head),
            metadata=self.serde.dumps_typed(kept_metadata),
            versions=checkpoint["channel_versions"],
            new_versions=new_versions,
            values=checkpoint["channel_values"],
            delta_channels=frozenset(kept_metadata.get("counters_since_delta_snapshot") or ()),
        )
        self._writer.put(place, namespace, draft, self.serde, lease=_lease(config), run=run)
        return _config(place, namespace, draft.checkpoint)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what a task wrote after the checkpoint ``config`` names. Raises as :meth:`put` does."""
        self._writer.put_writes(
            self._place(config),
            _namespace(config),
            config.get("configurable", {})["checkpoint_id"],
            [(channel, self.serde.dumps_typed(value)) for channel, value in writes],
            task=task_id,
            task_path=task_path,
            lease=_lease(config),
        )

    def delete_thread(self, thread_id: str) -> None:
        """Remove everything a thread has; late writes to it are refused for a good while."""
        self._removal.thread(Place(self._owner, thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints that runs stored, in whatever thread. What later ones need of them is kept."""
        self._removal.runs(self._owner, run_ids)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread to one that has no checkpoints.

        Raises
        ------
        ConflictError
            When the target has checkpoints or was deleted.
        """
        copy_thread(self._table, Place(self._owner, source_thread_id), Place(self._owner, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Remove old checkpoints.

        Parameters
        ----------
        thread_ids : sequence of str
            Of which threads.
        strategy : {'keep_latest', 'delete'}
            Whether the newest checkpoint of each namespace stays.

        Raises
        ------
        InvalidInputError
            For another strategy.
        """
        if strategy not in {"keep_latest", "delete"}:
            raise InvalidInputError(f"There is no strategy {strategy!r}.")
        for thread in thread_ids:
            place = Place(self._owner, thread)
            if strategy == "delete":
                self._removal.thread(place)
            else:
                self._removal.all_but_newest(place)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Give what was written to delta channels since they were last stored, in one query.

        Raises
        ------
        CorruptCheckpointError
            When a checkpoint is missing that a history needs.
        """
        if not channels:
            return {}
        place, namespace = self._place(config), _namespace(config)
        checkpoint = get_checkpoint_id(config)
        if not checkpoint:
            newest = self._reader.newest(place, namespace)
            if newest is None:
                return {name: DeltaChannelHistory(writes=[]) for name in channels}
            checkpoint = newest.checkpoint
        histories: dict[str, DeltaChannelHistory] = {}
        for name, history in delta_histories(self._reader, place, namespace, checkpoint, channels).items():
            writes = [(task, name, self._value(place, checkpoint, value)) for task, value in history.writes]
            histories[name] = DeltaChannelHistory(writes=writes)
            if history.seed is not None:
                histories[name]["seed"] = deserialize(self.serde, history.seed)
        return histories

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Do what :meth:`get_tuple` does beside the event loop."""
        return await in_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Do what :meth:`list` does beside the event loop; a page is read when its first checkpoint is asked for."""
        tuples = self.list(config, filter=filter, before=before, limit=limit)
        while (each := await in_thread(next, tuples, None)) is not None:
            yield each

    async def achildren(self, config: RunnableConfig) -> AsyncIterator[CheckpointTuple]:
        """Do what :meth:`children` does beside the event loop."""
        tuples = self.children(config)
        while (each := await in_thread(next, tuples, None)) is not None:
            yield each

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Do what :meth:`put` does beside the event loop."""
        return await in_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Do what :meth:`put_writes` does beside the event loop."""
        await in_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Do what :meth:`delete_thread` does beside the event loop."""
        await in_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Do what :meth:`delete_for_runs` does beside the event loop."""
        await in_thread(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Do what :meth:`copy_thread` does beside the event loop."""
        await in_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Do what :meth:`prune` does beside the event loop."""
        await in_thread(self.prune, thread_ids, strategy=strategy)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Do what :meth:`get_delta_channel_history` does beside the event loop."""
        return await in_thread(self.get_delta_channel_history, config=config, channels=channels)

    def _place(self, config: RunnableConfig) -> Place:
        return Place(self._owner, str(config.get("configurable", {})["thread_id"]))

    def _fits(self, place: Place, found: Found, wanted: Mapping[str, Any]) -> bool:
        metadata = self._metadata(place, found.checkpoint, found.record.metadata, found.run)
        return all(metadata.get(name) == value for name, value in wanted.items())

    def _tuple(self, place: Place, loaded: Loaded) -> CheckpointTuple:
        record, checkpoint = loaded.record, loaded.checkpoint
        head: dict[str, Any] = self._value(place, checkpoint, record.checkpoint)
        try:
            values = {name: deserialize(self.serde, stored) for name, stored in loaded.values.items()}
        except (NotImplementedError, ValueError) as error:
            raise _unreadable(place, checkpoint) from error
        return CheckpointTuple(
            config=_config(place, loaded.namespace, checkpoint),
            checkpoint=cast(
                "Checkpoint",
                {**head, "id": checkpoint, "channel_values": values, "channel_versions": dict(record.versions)},
            ),
            metadata=cast("CheckpointMetadata", self._metadata(place, checkpoint, record.metadata, loaded.run)),
            parent_config=_config(place, loaded.namespace, record.parent) if record.parent else None,
            pending_writes=[
                (task, channel, self._value(place, checkpoint, value)) for task, channel, value in loaded.writes
            ],
        )

    def _metadata(self, place: Place, checkpoint: str, packed: Packed, run: str | None) -> dict[str, Any]:
        metadata: dict[str, Any] = self._value(place, checkpoint, packed)
        return metadata if run is None else {**metadata, _RUN: run}

    def _value(self, place: Place, checkpoint: str, packed: Packed) -> Any:  # noqa: ANN401
        try:
            return self.serde.loads_typed(packed)
        except (NotImplementedError, ValueError) as error:
            raise _unreadable(place, checkpoint) from error


# Stands beside a checkpoint's body: a run's checkpoints must be found and removed without reading what was said.
_RUN: Final = "run_id"

_STORED_APART: Final = frozenset({"id", "channel_values", "channel_versions"})


def _unreadable(place: Place, checkpoint: str) -> CorruptCheckpointError:
    return CorruptCheckpointError(place.thread, checkpoint, "the serializer does not know a value's type.")


def _namespace(config: RunnableConfig) -> str:
    return config.get("configurable", {}).get("checkpoint_ns", ROOT)


def _lease(config: RunnableConfig) -> int | None:
    return config.get("configurable", {}).get(LEASE)


def _config(place: Place, namespace: str, checkpoint: str) -> RunnableConfig:
    return {
        "configurable": {"thread_id": place.thread, "checkpoint_ns": namespace, "checkpoint_id": checkpoint},
    }


def checkpointer_for(client: "DynamoDBClient", table_name: str, owner: UserId) -> DynamoDBSaver:
    """Give the checkpointer of one owner's threads.

    Parameters
    ----------
    client : DynamoDBClient
        A low-level client.
    table_name : str
        The checkpoint table.
    owner : UserId
        Whose threads it reaches; no path of it leads to anybody else's.
    """
    return DynamoDBSaver(client, table_name, owner)
