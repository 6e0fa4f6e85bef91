from typing import Any

import httpx
import pytest

from shared.adapters.coin_gecko import CoinGecko
from shared.domain.errors import NotFoundError, SourceUnavailableError

BITCOIN = {"id": "bitcoin", "name": "Bitcoin", "symbol": "BTC", "market_cap_rank": 1}
BITCOIN_CASH = {"id": "bitcoin-cash", "name": "Bitcoin Cash", "symbol": "BCH", "market_cap_rank": 20}
QUOTE = {"usd": 64000.5, "usd_market_cap": 1.2e12, "usd_24h_change": -1.5, "last_updated_at": 1772366400}


class Server:
    def __init__(self, coins: Any = (BITCOIN, BITCOIN_CASH), quotes: Any = None) -> None:
        self.coins = {"coins": coins}
        self.quotes = {"bitcoin": QUOTE} if quotes is None else quotes
        self.asked: list[httpx.URL] = []

    def source(self) -> CoinGecko:
        return CoinGecko(httpx.MockTransport(self._respond))

    def _respond(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url)
        return httpx.Response(200, json=self.coins if request.url.path.endswith("/search") else self.quotes)


async def test_gives_the_price() -> None:
    assert await Server().source().price("btc", "USD") == {
        "coin": {"id": "bitcoin", "name": "Bitcoin", "symbol": "BTC"},
        "currency": "usd",
        "price": 64000.5,
        "marketCap": 1.2e12,
        "change24hPercent": -1.5,
        "updatedAtEpoch": 1772366400,
        "source": "CoinGecko",
    }


@pytest.mark.parametrize(
    ("asked", "found"), [("bch", "bitcoin-cash"), ("Bitcoin Cash", "bitcoin-cash"), ("b", "bitcoin")]
)
async def test_takes_the_coin_that_fits_exactly_else_the_largest(asked: str, found: str) -> None:
    server = Server(quotes={"bitcoin": QUOTE, "bitcoin-cash": QUOTE})

    answer = await server.source().price(asked, "usd")

    assert answer["coin"]["id"] == found
    assert server.asked[1].params["ids"] == found


async def test_a_coin_that_is_not_there_is_told_so() -> None:
    with pytest.raises(NotFoundError):
        await Server(coins=[]).source().price("nothing", "usd")


@pytest.mark.parametrize("quotes", [{"bitcoin": {}}, {}, {"bitcoin": {"eur": 1}}])
async def test_a_currency_without_a_price_is_told_so(quotes: Any) -> None:
    with pytest.raises(NotFoundError, match="usd or eur"):
        await Server(quotes=quotes).source().price("btc", "xyz")


@pytest.mark.parametrize("coins", [[{"symbol": "BTC"}], "bitcoin", [1]])
async def test_an_answer_of_another_form_is_of_no_use(coins: Any) -> None:
    with pytest.raises(SourceUnavailableError):
        await Server(coins=coins).source().price("btc", "usd")
