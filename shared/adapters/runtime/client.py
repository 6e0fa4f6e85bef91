"""The managed runtime with one change: after a streamed response nothing is posted."""

# The interface client and its snapshot hooks carry no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

import os
import random
from collections.abc import Sequence

from awslambdaric import bootstrap
from awslambdaric.lambda_runtime_client import LambdaRuntimeClient
from snapshot_restore_py import register_after_restore

from shared.adapters.runtime.response_stream import StreamingRuntime, begin_streaming


class StreamingRuntimeClient(LambdaRuntimeClient):
    """``awslambdaric``'s client for handlers that may have answered already.

    Parameters
    ----------
    address : str
        Host and port of the Runtime API.
    runtime : StreamingRuntime
        Knows which invocations were streamed.
    """

    def __init__(self, address: str, runtime: StreamingRuntime) -> None:
        # Polling in a thread of its own lets signals through while the process waits, as the managed runtime does.
        super().__init__(address, use_thread_for_polling_next=True)
        self._runtime = runtime

    def post_invocation_result(
        self,
        invoke_id: str,
        result_data: str | bytes,
        content_type: str = "application/json",
        invocation_id: str | None = None,
    ) -> None:
        """Post what the handler returned, unless its response was streamed."""
        if not self._runtime.was_streamed(invoke_id):
            super().post_invocation_result(invoke_id, result_data, content_type, invocation_id)

    def post_invocation_error(
        self, invoke_id: str, error_response_data: str, xray_fault: str, invocation_id: str | None = None
    ) -> None:
        """Post the handler's failure, which the protocol allows only before a response has begun."""
        if not self._runtime.was_streamed(invoke_id):
            super().post_invocation_error(invoke_id, error_response_data, xray_fault, invocation_id)


def main(argv: Sequence[str]) -> None:
    """Serve invocations until the platform ends the process.

    Parameters
    ----------
    argv : sequence of str
        The program's name and the handler's, as the managed runtime takes them.
    """
    address = os.environ["AWS_LAMBDA_RUNTIME_API"]
    # Two environments restored from one snapshot would otherwise draw the same numbers.
    register_after_restore(random.seed)
    bootstrap.run(argv[1], StreamingRuntimeClient(address, begin_streaming(address)))
