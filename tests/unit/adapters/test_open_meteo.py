from typing import Any

import httpx
import pytest

from shared.adapters.open_meteo import OpenMeteo
from shared.domain.errors import NotFoundError, SourceUnavailableError

PLACE = {"name": "Berlin", "admin1": "Berlin", "country": "Germany", "latitude": 52.52, "longitude": 13.41}
FORECAST: dict[str, Any] = {
    "current_units": {"temperature_2m": "°C"},
    "current": {"time": "2026-03-01T12:00", "temperature_2m": 11.5, "weather_code": 2},
    "daily_units": {"temperature_2m_max": "°C"},
    "daily": {
        "time": ["2026-03-01", "2026-03-02", "2026-03-03"],
        "temperature_2m_max": [12.0, 9.5, 8.0],
        "weather_code": [0, 63, 99],
    },
}


class Server:
    def __init__(self, *, places: Any = None, forecast: Any = FORECAST) -> None:
        self.places = {"results": [PLACE]} if places is None else places
        self.forecast = forecast
        self.asked: list[httpx.URL] = []

    def source(self) -> OpenMeteo:
        return OpenMeteo(httpx.MockTransport(self._respond))

    def _respond(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url)
        return httpx.Response(200, json=self.places if request.url.path == "/v1/search" else self.forecast)


async def test_gives_the_present_weather_and_the_days() -> None:
    answer = await Server().source().forecast("Berlin", 3)

    assert answer["place"] == {"name": "Berlin", "admin1": "Berlin", "country": "Germany"}
    assert answer["now"] == {"time": "2026-03-01T12:00", "temperature_2m": 11.5, "sky": "partly cloudy"}
    assert [(day["time"], day["temperature_2m_max"], day["sky"]) for day in answer["days"]] == [
        ("2026-03-01", 12.0, "clear sky"),
        ("2026-03-02", 9.5, "rain"),
        ("2026-03-03", 8.0, "thunderstorm with hail"),
    ]
    assert answer["units"] == {"temperature_2m": "°C", "temperature_2m_max": "°C"}


@pytest.mark.parametrize(("asked", "sent"), [(0, "1"), (3, "3"), (99, "7")])
async def test_asks_for_the_place_that_was_found_and_no_more_days_than_there_are(asked: int, sent: str) -> None:
    server = Server()

    await server.source().forecast("Berlin", asked)

    assert [url.host for url in server.asked] == ["geocoding-api.open-meteo.com", "api.open-meteo.com"]
    params = server.asked[1].params
    assert (params["latitude"], params["longitude"], params["forecast_days"]) == ("52.52", "13.41", sent)


async def test_a_name_that_is_no_places_is_told_so() -> None:
    """Open-Meteo leaves the key out when it finds nothing."""
    with pytest.raises(NotFoundError):
        await Server(places={"generationtime_ms": 0.5}).source().forecast("Nowhere", 1)


@pytest.mark.parametrize(
    "server",
    [
        Server(places={"results": [{"name": "Berlin"}]}),
        Server(places={"results": "Berlin"}),
        Server(forecast={}),
        Server(forecast={**FORECAST, "daily": {"time": ["2026-03-01"], "weather_code": [1, 2]}}),
        Server(forecast={**FORECAST, "current": None}),
    ],
)
async def test_an_answer_of_another_form_is_of_no_use(server: Server) -> None:
    with pytest.raises(SourceUnavailableError):
        await server.source().forecast("Berlin", 1)
