"""Weather from Open-Meteo, which needs no key."""

from typing import Any, Final, cast

import httpx

from shared.adapters.json_api import JsonApi
from shared.domain.errors import NotFoundError, SourceUnavailableError

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
        answer = await self._forecasts.get(
            "/v1/forecast",
            {
                "latitude": str(found["latitude"]),
                "longitude": str(found["longitude"]),
                "current": _NOW,
                "daily": _DAILY,
                "timezone": "auto",
                "forecast_days": str(min(max(days, 1), MAX_DAYS)),
            },
        )
        try:
            return {
                "place": {key: found[key] for key in ("name", "admin1", "country") if found.get(key)},
                "units": {**answer["current_units"], **answer["daily_units"]},
                "now": _named(answer["current"]),
                "days": [_named(day) for day in _rows(answer["daily"])],
                "source": "Open-Meteo",
            }
        except (KeyError, TypeError, ValueError) as error:
            raise SourceUnavailableError("Open-Meteo answered in another form than it documents.") from error

    async def _find(self, place: str) -> dict[str, Any]:
        answer = await self._places.get("/v1/search", {"name": place, "count": "1", "format": "json"})
        results = answer.get("results")
        if not results:
            raise NotFoundError("There is no place of this name. Ask for the nearest larger town.")
        first = cast("dict[str, Any]", results[0]) if isinstance(results, list) else {}
        if "latitude" not in first or "longitude" not in first:
            raise SourceUnavailableError("Open-Meteo answered in another form than it documents.")
        return first


def _rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Turn the source's columns into one object a day."""
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _named(values: dict[str, Any]) -> dict[str, Any]:
    """Put a name in the place of the weather code."""
    code = values.get("weather_code")
    rest = {key: value for key, value in values.items() if key != "weather_code"}
    return rest if code is None else {**rest, "sky": next(name for first, name in reversed(_SKY) if first <= code)}
