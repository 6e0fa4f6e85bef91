"""The weather agent's tool."""

import json
from collections.abc import Sequence
from typing import Annotated

from langchain_core.tools import BaseTool, tool
from pydantic import Field

from shared.adapters.open_meteo import MAX_DAYS, OpenMeteo
from shared.graphs.agent.deps import AgentDeps


def weather_tools(deps: AgentDeps) -> Sequence[BaseTool]:
    """Make the tools of the weather agent."""
    source = OpenMeteo(deps.transport)

    @tool("get_weather", description="Give the present weather of a place and its forecast, day by day.")
    async def get_weather(
        place: Annotated[str, Field(min_length=1, max_length=100, description="A town, for example Lisbon.")],
        days: Annotated[int, Field(ge=1, le=MAX_DAYS, description="Days of forecast, today included.")] = 3,
    ) -> str:
        return json.dumps({"ok": True, **await source.forecast(place, days)}, ensure_ascii=False)

    return (get_weather,)
