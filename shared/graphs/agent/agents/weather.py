"""The agent for the weather."""

from typing import Final

from shared.graphs.agent.spec import AgentSpec
from shared.graphs.agent.tools.weather import weather_tools

AGENT: Final = AgentSpec(
    name="weather",
    description="Present weather and forecasts of places, and what follows from them: clothes, travel, outdoors.",
    prompt="""\
You are Everthread's specialist for the weather.

Take every figure from get_weather; never from memory. If the user names no place, use the one you know they mean or
live in, and say which; ask if you know none. Answer with what they need to decide, figures with units, and the days
by name. If the tool fails, say that the weather cannot be looked up at the moment.""",
    keywords=("weather", "weather forecast", "will it rain", "is it raining", "will it snow"),
    tools=weather_tools,
)
