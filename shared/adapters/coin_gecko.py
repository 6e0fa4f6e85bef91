"""Prices of crypto currencies from CoinGecko's public API, which needs no key."""

from typing import Any, Final

import httpx
from pydantic import BaseModel, Field, RootModel

from shared.adapters.json_api import JsonApi
from shared.domain.errors import NotFoundError

_API: Final = "https://api.coingecko.com"


class _Coin(BaseModel):
    id: str
    name: str
    symbol: str = ""

    def is_called(self, name: str) -> bool:
        return name in (self.symbol.lower(), self.name.lower())


class _Coins(BaseModel):
    coins: list[_Coin] = Field(default_factory=list[_Coin])


class _Quotes(RootModel[dict[str, dict[str, int | float | None]]]):
    pass


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
        params = {
            "ids": found.id,
            "vs_currencies": unit,
            "include_market_cap": "true",
            "include_24hr_change": "true",
            "include_last_updated_at": "true",
        }
        quote = (await self._api.get("/api/v3/simple/price", params, _Quotes)).root.get(found.id, {})
        if quote.get(unit) is None:
            raise NotFoundError(f"There is no price of {found.name} in this currency. Try usd or eur.")
        return {
            "coin": found.model_dump(),
            "currency": unit,
            "price": quote[unit],
            "marketCap": quote.get(f"{unit}_market_cap"),
            "change24hPercent": quote.get(f"{unit}_24h_change"),
            "updatedAtEpoch": quote.get("last_updated_at"),
            "source": "CoinGecko",
        }

    async def _find(self, coin: str) -> _Coin:
        found = (await self._api.get("/api/v3/search", {"query": coin}, _Coins)).coins
        if not found:
            raise NotFoundError("There is no coin of this name or symbol.")
        # The source puts the largest first; a name or symbol that fits exactly is what was meant.
        wanted = coin.strip().lower()
        return next((each for each in found if each.is_called(wanted)), found[0])
