"""Prices of crypto currencies from CoinGecko's public API, which needs no key."""

from typing import Any, Final, cast

import httpx

from shared.adapters.json_api import JsonApi
from shared.domain.errors import NotFoundError, SourceUnavailableError

_API: Final = "https://api.coingecko.com"


class CoinGecko:
    """Finds coins by name or symbol and tells their price.

    Parameters
    ----------
    transport : httpx.AsyncBaseTransport, optional
        What carries the requests; the network unless a test gives something else.
    """

    def __init__(self, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._api = JsonApi(_API, transport=transport)

    async def price(self, coin: str, currency: str) -> dict[str, Any]:
        """Give the present price of a coin.

        Parameters
        ----------
        coin : str
            Its name or symbol, for example ``bitcoin`` or ``BTC``.
        currency : str
            The code of the currency to give it in, for example ``usd``.

        Raises
        ------
        NotFoundError
            When there is no such coin, or no price of it in that currency.
        SourceUnavailableError
            When the source gave no usable answer.
        """
        found = await self._find(coin)
        unit = currency.strip().lower()
        answer = await self._api.get(
            "/api/v3/simple/price",
            {
                "ids": found["id"],
                "vs_currencies": unit,
                "include_market_cap": "true",
                "include_24hr_change": "true",
                "include_last_updated_at": "true",
            },
        )
        quote = cast("object", answer.get(found["id"]))
        if not isinstance(quote, dict) or unit not in quote:
            raise NotFoundError(f"There is no price of {found['name']} in this currency. Try usd or eur.")
        values = cast("dict[str, Any]", quote)
        return {
            "coin": {key: found[key] for key in ("id", "name", "symbol") if key in found},
            "currency": unit,
            "price": values[unit],
            "marketCap": values.get(f"{unit}_market_cap"),
            "change24hPercent": values.get(f"{unit}_24h_change"),
            "updatedAtEpoch": values.get("last_updated_at"),
            "source": "CoinGecko",
        }

    async def _find(self, coin: str) -> dict[str, str]:
        answer = await self._api.get("/api/v3/search", {"query": coin})
        coins = cast("list[dict[str, str]] | None", answer.get("coins"))
        if not coins:
            raise NotFoundError("There is no coin of this name or symbol.")
        # The source puts the largest first; a symbol that fits exactly is what was meant.
        wanted = coin.strip().lower()
        exact = [each for each in coins if wanted in (each.get("symbol", "").lower(), each.get("name", "").lower())]
        first = (exact or coins)[0]
        if "id" not in first or "name" not in first:
            raise SourceUnavailableError("CoinGecko answered in another form than it documents.")
        return first
