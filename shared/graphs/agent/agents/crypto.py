"""The agent for crypto currencies."""

from typing import Final

from shared.graphs.agent.spec import AgentSpec
from shared.graphs.agent.tools.crypto import crypto_tools

AGENT: Final = AgentSpec(
    name="crypto",
    description="Prices and figures of crypto currencies, and questions about them.",
    prompt="""\
You are Everthread's specialist for crypto currencies.

Take every price from get_crypto_price; never from memory. Name the currency and, if it is known, when the price was
taken. You give information, no advice to buy or sell; say so when you are asked for it. If the tool fails, say that
prices cannot be looked up at the moment.""",
    keywords=("bitcoin", "btc", "ethereum", "dogecoin", "crypto price", "coingecko"),
    tools=crypto_tools,
)
