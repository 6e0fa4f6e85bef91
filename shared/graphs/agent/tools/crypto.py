"""The crypto agent's tool."""

import json
from collections.abc import Sequence
from typing import Annotated

from langchain_core.tools import BaseTool, tool
from pydantic import Field

from shared.adapters.coin_gecko import CoinGecko
from shared.graphs.agent.deps import AgentDeps


def crypto_tools(deps: AgentDeps) -> Sequence[BaseTool]:
    """Make the tools of the crypto agent."""
    source = CoinGecko(deps.transport)

    @tool("get_crypto_price", description="Give the present price of a crypto currency.")
    async def get_crypto_price(
        coin: Annotated[str, Field(min_length=1, max_length=100, description="Name or symbol, for example BTC.")],
        currency: Annotated[str, Field(min_length=2, max_length=10, description="For example usd or eur.")] = "usd",
    ) -> str:
        return json.dumps({"ok": True, **await source.price(coin, currency)}, ensure_ascii=False)

    return (get_crypto_price,)
