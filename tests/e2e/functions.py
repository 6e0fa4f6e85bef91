"""How often a function has run, by the report that ends each invocation in its log."""

from local.product import LocalProduct
from tests.e2e.waiting import until


class Functions:
    """Counts invocations that have ended."""

    def __init__(self, product: LocalProduct) -> None:
        self._logs = product.address.client("logs")
        self._lambda = product.address.client("lambda")
        self._outputs = product.deployment.outputs

    def close(self) -> None:
        self._logs.close()
        self._lambda.close()

    def runs(self, output: str) -> int:
        function = self._lambda.get_function_configuration(FunctionName=self._outputs[output])
        group = function["LoggingConfig"]["LogGroup"]
        pages = self._logs.get_paginator("filter_log_events").paginate(logGroupName=group, filterPattern="REPORT")
        return sum(event["message"].startswith("REPORT RequestId") for page in pages for event in page["events"])

    async def runs_reach(self, output: str, count: int) -> None:
        async def look() -> bool:
            return self.runs(output) >= count

        await until(look, f"{count} runs of {output}")
