"""The gateway before a real child process that speaks the Lambda Runtime API."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import httpx
import pytest

from tests.unit.local.api import api

THREAD = "/threads/6f8c6a1e-0000-4000-8000-000000000000"


async def echoed(served, path=f"{THREAD}/echo", **request) -> dict:
    answer = await served.client.request(request.pop("method", "GET"), path, **request)
    assert answer.status_code == 200
    return answer.json()


async def test_event_is_a_rest_proxy_event(tmp_path):
    async with api(tmp_path) as served:
        answer = await served.client.post(
            f"{THREAD}/echo?a=1&a=2&b=%C3%BC", content='{"ü": 1}', headers=[("x-one", "1"), ("accept", "a/b")]
        )
        assert answer.headers.get_list("x-many") == ["a", "b"]
        event = answer.json()["event"]
    assert event["resource"] == "/threads/{thread_id}/{what}"
    assert event["path"] == f"{THREAD}/echo"
    assert event["httpMethod"] == "POST"
    assert event["pathParameters"] == {"thread_id": THREAD.split("/")[-1], "what": "echo"}
    assert event["queryStringParameters"] == {"a": "2", "b": "ü"}
    assert event["multiValueQueryStringParameters"] == {"a": ["1", "2"], "b": ["ü"]}
    assert event["multiValueHeaders"]["x-one"] == ["1"]
    assert (event["body"], event["isBase64Encoded"]) == ('{"ü": 1}', False)
    context = event["requestContext"]
    assert context["authorizer"] == {"claims": {"sub": "ada"}}
    assert (context["stage"], context["path"]) == ("local", f"/local{THREAD}/echo")
    assert context["identity"]["sourceIp"] == "127.0.0.1"


async def test_public_route_has_no_claims(tmp_path):
    async with api(tmp_path) as served:
        served.client.headers.pop("authorization")
        event = (await echoed(served, f"{THREAD}/state"))["event"]
    assert "authorizer" not in event["requestContext"]


@pytest.mark.parametrize("token", [None, "", "Bearer", "Bearer eve", "eve"])
async def test_no_code_of_ours_runs_without_a_token(tmp_path, token):
    async with api(tmp_path) as served:
        served.client.headers.pop("authorization")
        answer = await served.client.get(f"{THREAD}/echo", headers={} if token is None else {"authorization": token})
        assert served.pool.size == 0
    assert answer.status_code == 401
    assert answer.json() == {"code": "UNAUTHORIZED"}
    assert answer.headers["access-control-allow-origin"] == "*"


async def test_first_bytes_arrive_while_the_function_still_runs(tmp_path):
    reached = asyncio.Event()
    release = asyncio.Event()

    async def gate(_reader, writer):
        reached.set()
        await release.wait()
        writer.close()

    async with api(tmp_path) as served, await asyncio.start_server(gate, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with served.client.stream("GET", f"{THREAD}/gated?port={port}") as answer:
            text = answer.aiter_text()
            assert await anext(text) == "one "
            await reached.wait()
            release.set()
            assert await anext(text) == "two"


@pytest.mark.parametrize("what", ["error", "die", "no-prelude", "bad-prelude"])
async def test_failure_before_the_response_is_a_502_and_the_next_request_works(tmp_path, what):
    async with api(tmp_path) as served:
        answer = await served.client.get(f"{THREAD}/{what}")
        assert answer.status_code == 502
        assert answer.json() == {"message": "Internal server error"}
        assert answer.headers["access-control-allow-origin"] == "*"
        await echoed(served)


@pytest.mark.parametrize("what", ["truncated", "trailers"])
async def test_failure_in_the_middle_cuts_the_connection(tmp_path, what):
    async with api(tmp_path) as served:
        async with served.client.stream("GET", f"{THREAD}/{what}") as answer:
            text = answer.aiter_text()
            assert await anext(text) == "one "
            with pytest.raises(httpx.RemoteProtocolError):
                await anext(text)
        await echoed(served)


async def test_prelude_may_come_in_pieces(tmp_path):
    async with api(tmp_path) as served:
        answer = await served.client.get(f"{THREAD}/split-prelude")
    assert (answer.status_code, answer.text) == (200, "fine")


async def test_function_that_takes_too_long_is_killed(tmp_path):
    async with api(tmp_path, seconds=0.5) as served:
        answer = await served.client.get(f"{THREAD}/hang")
        assert answer.status_code == 502
        assert served.pool.size == 0


async def test_integration_that_takes_too_long_is_a_504(tmp_path):
    async with api(tmp_path, integration_ms=500) as served:
        answer = await served.client.get(f"{THREAD}/hang")
    assert answer.status_code == 504


async def test_buffered_route_has_its_time_and_that_of_a_start(tmp_path):
    async with api(tmp_path, integration_ms=1, cold=20) as served:
        assert (await served.client.post("/threads/a")).status_code == 418
    async with api(tmp_path, integration_ms=200, cold=0.2) as served:
        answer = await served.client.post("/threads/never")
    assert (answer.status_code, answer.json()) == (504, {"message": "Endpoint request timed out"})


async def test_silent_stream_is_cut(tmp_path):
    async with api(tmp_path, idle=0.5) as served, served.client.stream("GET", f"{THREAD}/silent") as answer:
        text = answer.aiter_text()
        assert await anext(text) == "one "
        with pytest.raises(httpx.RemoteProtocolError):
            await anext(text)


async def test_request_over_six_megabytes_is_refused_before_any_code_runs(tmp_path):
    async with api(tmp_path) as served:
        answer = await served.client.post(f"{THREAD}/echo", content=b"x" * (6 * 1024 * 1024 + 1))
        assert served.pool.size == 0
    assert answer.status_code == 413


async def test_event_may_be_too_large_though_its_body_is_not(tmp_path):
    async with api(tmp_path) as served:
        answer = await served.client.post(f"{THREAD}/echo", content=json.dumps("\n" * (4 * 1024 * 1024)))
    assert answer.status_code == 413


async def test_one_process_serves_one_request_after_the_other(tmp_path):
    async with api(tmp_path) as served:
        pids = {(await echoed(served))["pid"] for _ in range(3)}
        assert (len(pids), served.pool.size) == (1, 1)


def unread(pid: int) -> int:
    """How many bytes lie in a process's sockets."""
    sockets = {str(descriptor.readlink()) for descriptor in Path(f"/proc/{pid}/fd").iterdir()}
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(int(row[4].split(":")[1], 16) for row in rows if f"socket:[{row[9]}]" in sockets)


@pytest.mark.parametrize("attempt", range(5))
async def test_request_after_the_idle_process_was_killed_gets_another_process(tmp_path, attempt):
    """The kill is not waited for: the gateway may hand the request to a process that is dying."""
    async with api(tmp_path) as served:
        first = (await echoed(served))["pid"]
        os.kill(first, signal.SIGKILL)
        assert (await echoed(served))["pid"] != first
        assert served.pool.size == 1


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_request_that_a_stopped_process_never_read_gets_another_process(tmp_path):
    """The event lies in the socket of a process that does not run any more when it is killed."""
    async with api(tmp_path) as served:
        first = (await echoed(served))["pid"]
        os.kill(first, signal.SIGSTOP)
        waiting = asyncio.create_task(echoed(served))
        while not unread(first):  # noqa: ASYNC110 - the kernel tells nobody
            await asyncio.sleep(0)
        os.kill(first, signal.SIGKILL)
        assert (await waiting)["pid"] != first


async def test_request_that_was_read_is_not_carried_out_twice(tmp_path):
    log = tmp_path / "seen"
    async with api(tmp_path) as served:
        await echoed(served)
        answer = await served.client.get(f"{THREAD}/die?note={log}")
    assert answer.status_code == 502
    assert log.read_text() == "seen\n"


async def test_requests_at_once_get_processes_of_their_own_up_to_the_limit(tmp_path):
    async with api(tmp_path, limit=2) as served:
        answers = await asyncio.gather(*(echoed(served) for _ in range(5)))
        assert len({answer["pid"] for answer in answers}) <= 2
        assert served.pool.size <= 2


async def test_client_that_leaves_does_not_stop_the_function(tmp_path):
    finished = asyncio.Event()
    release = asyncio.Event()

    async def gate(reader, writer):
        await release.wait()
        writer.close()
        finished.set()

    async with api(tmp_path, limit=1) as served, await asyncio.start_server(gate, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with served.client.stream("GET", f"{THREAD}/gated?port={port}") as answer:
            assert await anext(answer.aiter_text()) == "one "
        release.set()
        await finished.wait()
        # With one process only, this is answered after the abandoned one has ended well.
        first = await echoed(served)
        assert (await echoed(served))["pid"] == first["pid"]


async def test_client_that_leaves_a_large_response_does_not_block_the_function(tmp_path):
    async with api(tmp_path, limit=1) as served:
        async with served.client.stream("GET", f"{THREAD}/large") as answer:
            await anext(answer.aiter_bytes())
        await echoed(served)


async def test_function_that_does_not_start_is_a_502(tmp_path):
    async with api(tmp_path, start="fails") as served:
        answer = await served.client.get(f"{THREAD}/echo")
        assert served.pool.size == 0
    assert answer.status_code == 502


@pytest.mark.parametrize("method", ["POST", "OPTIONS", "DELETE"])
async def test_buffered_routes_are_passed_on_as_they_are(tmp_path, method):
    async with api(tmp_path) as served:
        answer = await served.client.request(method, "/threads/a%20%C3%BC?x=1&x=%2F2", content="hi")
        assert served.pool.size == 0
    assert answer.status_code == 418
    assert answer.headers["x-from"] == "upstream"
    assert answer.json() == {
        "method": method,
        "path": "/stage/threads/a ü",
        "query": "x=1&x=%2F2",
        "authorization": "Bearer ada",
        "body": "hi",
    }


async def test_buffered_routes_need_the_same_token(tmp_path):
    """The local cloud takes access tokens too; API Gateway does not."""
    async with api(tmp_path) as served:
        answer = await served.client.delete("/threads/a", headers={"authorization": "Bearer eve"})
    assert (answer.status_code, answer.json()) == (401, {"code": "UNAUTHORIZED"})


async def sent(served, target: str, method="GET") -> tuple[int, bytes]:
    """Send a request whose target no client would write, and give status and body of the answer."""
    url = served.client.base_url
    reader, writer = await asyncio.open_connection(url.host, url.port)
    writer.write(
        f"{method} {target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ada\r\nConnection: close\r\n\r\n".encode()
    )
    answer = await reader.read()
    writer.close()
    return int(answer.split(b" ", 2)[1]), answer.partition(b"\r\n\r\n")[2]


@pytest.mark.parametrize("target", ["http://127.0.0.1:1/threads/x", "http://127.0.0.1:1", "*"])
async def test_request_for_a_whole_url_is_refused(tmp_path, target):
    async with api(tmp_path) as served:
        status, body = await sent(served, target)
    assert (status, json.loads(body)) == (400, {"message": "Bad Request"})


@pytest.mark.parametrize(
    "target",
    [
        "/nowhere",
        "/http://127.0.0.1:1/threads/x",
        "//127.0.0.1:1/threads",
        "/threads/..",
        "/threads/%2E%2E",
        "/threads/../../../_ministack/reset",
        "/threads//x",
        "/threads/a%2Fb",
    ],
)
async def test_what_is_no_route_is_never_passed_on(tmp_path, target):
    async with api(tmp_path) as served:
        status, body = await sent(served, target, "POST")
        assert served.pool.size == 0
    assert (status, json.loads(body)) == (403, {"message": "Missing Authentication Token"})


async def test_a_route_is_found_however_its_path_is_escaped(tmp_path):
    async with api(tmp_path) as served:
        event = (await echoed(served, "/thread%73/a%2Fb/%65cho"))["event"]
        upstream = await served.client.post("/thread%73/%61")
    assert event["resource"] == "/threads/{thread_id}/{what}"
    assert event["pathParameters"] == {"thread_id": "a/b", "what": "echo"}
    assert event["path"] == "/threads/a/b/echo"
    assert upstream.json()["path"] == "/stage/threads/a"


async def test_a_fixed_part_is_preferred_to_a_parameter(tmp_path):
    async with api(tmp_path) as served:
        event = (await echoed(served, f"{THREAD}/st%61te"))["event"]
    assert event["resource"] == "/threads/{thread_id}/state"
