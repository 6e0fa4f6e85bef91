"""The only maker of boto3 clients.

One session a process; timeouts and retries are set here for each service. Endpoints come from the SDK's own
variables (``AWS_ENDPOINT_URL``, ``AWS_ENDPOINT_URL_BEDROCK_RUNTIME``), which is how the local cloud is reached.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final, ParamSpec, TypeVar

import boto3
from botocore.config import Config

P = ParamSpec("P")
T = TypeVar("T")

_THREADS = 32

# DynamoDB answers in single-digit milliseconds: fail over to the next try fast.
_FAST = Config(
    connect_timeout=1,
    read_timeout=3,
    retries={"mode": "standard", "total_max_attempts": 4},
    max_pool_connections=_THREADS,
)
# A model may be silent for a long while before its first token. Retries before the first token are the model
# adapter's own, because a stream cannot be retried by the SDK.
_MODEL = Config(
    connect_timeout=2,
    read_timeout=120,
    retries={"mode": "standard", "total_max_attempts": 1},
    max_pool_connections=_THREADS,
)

# A query that nobody made lately takes most of a second, a write of 500 vectors carries ten megabytes.
_SEARCH = Config(
    connect_timeout=1,
    read_timeout=15,
    retries={"mode": "standard", "total_max_attempts": 4},
    max_pool_connections=_THREADS,
)

# Virtual-hosted, or presigned URLs name the one endpoint of all regions, which sends what is put there elsewhere.
_OBJECTS = Config(
    connect_timeout=1,
    read_timeout=10,
    retries={"mode": "standard", "total_max_attempts": 4},
    max_pool_connections=_THREADS,
    signature_version="s3v4",
    s3={"addressing_style": "virtual", "us_east_1_regional_endpoint": "regional"},
    # Checksums that nobody asked for would become headers that an upload has to send.
    request_checksum_calculation="when_required",
    response_checksum_validation="when_required",
)

# A dense page takes seconds.
_OCR = Config(
    connect_timeout=2,
    read_timeout=30,
    retries={"mode": "standard", "total_max_attempts": 5},
    max_pool_connections=_THREADS,
)

_CONFIGS = {
    "dynamodb": _FAST,
    "events": _FAST,
    "sqs": _FAST,
    "s3": _OBJECTS,
    "s3vectors": _SEARCH,
    "bedrock-runtime": _MODEL,
    "textract": _OCR,
}

SERVICES: Final = tuple(_CONFIGS)
"""Every AWS service that the product calls; the bundles carry the SDK's description of these and no others."""


@cache
def session() -> boto3.Session:
    """Give the process's one session."""
    return boto3.Session()


@cache
def client(service: str) -> Any:  # noqa: ANN401 - each service has a type of its own; callers name it
    """Give the process's one client of a service; boto3 clients may be used from several threads.

    Parameters
    ----------
    service : str
        boto3's name of the service. Only those the product uses are known here.

    Raises
    ------
    KeyError
        For a service that has no entry here.
    """
    return session().client(service, config=_CONFIGS[service])


@cache
def _executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="aws")


async def in_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a blocking call beside the event loop, so that streams and heartbeats go on.

    ``asyncio.to_thread`` would do but for its pool, which has six threads on a Lambda with two cores and is shared
    with everything else in the process.
    """
    return await asyncio.get_running_loop().run_in_executor(_executor(), partial(call, *args, **kwargs))


@dataclass(frozen=True, slots=True)
class _End:
    error: BaseException | None = None


async def iterate_in_thread(make: Callable[[], Iterator[T]]) -> AsyncGenerator[T, None]:
    """Give what a blocking iterator gives, as it comes; one thread works through it from start to end.

    A caller that leaves early does not wait for the thread, which stops at the next item it gets.

    Parameters
    ----------
    make : callable
        Makes the iterator; runs in the thread too. A generator is closed there.
    """
    loop = asyncio.get_running_loop()
    items: asyncio.Queue[T | _End] = asyncio.Queue()
    left = threading.Event()

    def give(item: T | _End) -> None:
        if not left.is_set():
            loop.call_soon_threadsafe(items.put_nowait, item)

    def work() -> None:
        try:
            iterator = make()
            try:
                for item in iterator:
                    if left.is_set():
                        break
                    give(item)
            finally:
                if isinstance(iterator, Generator):
                    iterator.close()
        except BaseException as error:  # noqa: BLE001 - raised where the items are awaited
            give(_End(error))
        else:
            give(_End())

    _executor().submit(work)
    try:
        while not isinstance(item := await items.get(), _End):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        left.set()
