"""The messages in a state of the graph."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AnyMessage


def messages_in(values: Any) -> Sequence[AnyMessage]:  # noqa: ANN401 - the graph's own state
    """Give the messages of a state's values; none of a state in which nothing was said."""
    return cast("Mapping[str, Sequence[AnyMessage]]", values).get("messages", ())
