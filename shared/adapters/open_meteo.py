"""Weather from Open-Meteo, which needs no key."""

from typing import Any, Final, Self

import httpx
from pydantic import BaseModel, Field, model_validator

from shared.adapters.json_api import JsonApi
from shared.domain.errors import NotFoundError

_PLACES: Final = "https://geocoding-api.open-meteo.com"
_FORECASTS: Final = "https://api.open-meteo.com"

MAX_DAYS: Final = 7

_NOW: Final = "temperature_2m,apparent_temperature,relative_humidity_2m,precipitation,wind_speed_10m,weather_code"
_DAILY: Final = "weather_code,temperature_2m_max,temperature_2m_min,precipitation_sum,precipitation_probability_max"

# WMO code 4677, as far as Open-Meteo uses it; each name stands for the codes from its own up to the next.
_SKY: Final = (
    (0, "clear sky"),
    (1, "mainly clear"),
    (2, "partly cloudy"),
    (3, "overcast"),
    (45, "fog"),
    (51, "drizzle"),
    (56, "freezing drizzle"),
    (61, "rain"),
    (66, "freezing rain"),
    (71, "snow"),
    (80, "rain showers"),
    (85, "snow showers"),
    (95, "thunderstorm"),
    (96, "thunderstorm with hail"),
)


Value = int | float | str | None


class _Place(BaseModel):
    name: str
    latitude: float
    longitude: float
    admin1: str | None = None
    country: str | None = None


class _Places(BaseModel):
    # The source leaves the list out when it is empty.
    results: list[_Place] = Field(default_factory=list[_Place])


class _Forecast(BaseModel):
    current_units: dict[str, str]
    current: dict[str, Value]
    daily_units: dict[str, str]
    daily: dict[str, list[Value]]

    @model_validator(mode="after")
    def _columns_are_of_one_length(self) -> Self:
        if len({len(column) for column in self.daily.values()}) > 1:
            raise ValueError("each day must have each value")
        return self


class OpenMeteo:
    """Finds places by name and tells their weather.

    Parameters
    ----------
    transport : httpx.AsyncBaseTransport, optional
        What carries the requests; the network unless a test gives something else.
    """

    def __init__(self, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._places = JsonApi(_PLACES, transport=transport)
        self._forecasts = JsonApi(_FORECASTS, transport=transport)

    async def forecast(self, place: str, days: int) -> dict[str, Any]:
        """Give the present weather of a place and a forecast.

        Parameters
        ----------
        place : str
            A name; the best known place of that name is taken.
        days : int
            From today on, at most ``MAX_DAYS``.

        Raises
        ------
        NotFoundError
            When no place has the name.
        SourceUnavailableError
            When the source gave no usable answer.
        """
        found = await self._find(place)
        params = {
            "latitude": str(found.latitude),
            "longitude": str(found.longitude),
            "current": _NOW,
            "daily": _DAILY,
            "timezone": "auto",
            "forecast_days": str(min(max(days, 1), MAX_DAYS)),
        }
        answer = await self._forecasts.get("/v1/forecast", params, _Forecast)
        return {
            "place": found.model_dump(include={"name", "admin1", "country"}, exclude_none=True),
            "units": {**answer.current_units, **answer.daily_units},
            "now": _named(answer.current),
            "days": [_named(day) for day in _rows(answer.daily)],
            "source": "Open-Meteo",
        }

    async def _find(self, place: str) -> _Place:
        params = {"name": place, "count": "1", "format": "json"}
        found = (await self._places.get("/v1/search", params, _Places)).results
        if not found:
            raise NotFoundError("There is no place of this name. Ask for the nearest larger town.")
        return found[0]


def _rows(columns: dict[str, list[Value]]) -> list[dict[str, Value]]:
    """Turn the source's columns into one object a day."""
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _named(values: dict[str, Value]) -> dict[str, Value]:
    """Put a name in the place of the weather code."""
    code = values.get("weather_code")
    rest = {key: value for key, value in values.items() if key != "weather_code"}
    if not isinstance(code, int) or code < 0:
        return rest
    return {**rest, "sky": next(name for first, name in reversed(_SKY) if first <= code)}
