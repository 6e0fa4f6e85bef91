"""How often a function has run, by the local cloud's own metric: what is counted has ended."""

from datetime import UTC, datetime, timedelta

from local.product import LocalProduct
from tests.e2e.waiting import until


class Functions:
    """Counts invocations."""

    def __init__(self, product: LocalProduct) -> None:
        self._cloudwatch = product.address.client("cloudwatch")
        self._outputs = product.deployment.outputs

    def close(self) -> None:
        self._cloudwatch.close()

    def runs(self, output: str) -> int:
        now = datetime.now(UTC)
        points = self._cloudwatch.get_metric_statistics(
            Namespace="AWS/Lambda",
            MetricName="Invocations",
            Dimensions=[{"Name": "FunctionName", "Value": self._outputs[output]}],
            StartTime=now - timedelta(hours=3),
            EndTime=now + timedelta(minutes=5),
            Period=60,
            Statistics=["Sum"],
        )["Datapoints"]
        return int(sum(point["Sum"] for point in points))

    async def runs_reach(self, output: str, count: int) -> None:
        async def look() -> bool:
            return self.runs(output) >= count

        await until(look, f"{count} runs of {output}")
