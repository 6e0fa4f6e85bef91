"""From a presigned upload to chunks with vectors: bucket, events, queue, function, table, and the local embeddings."""

import httpx

from tests.e2e.waiting import until
from tests.fakes.made_files import PdfPage, pdf

PATH = "/api/kb/documents"


async def upload(person, name, data, media_type="application/pdf"):
    """Send a file as a browser does; give the document's id."""
    file = {"name": name, "size": len(data), "mediaType": media_type}
    offer = (await person.http.post(PATH, json=file)).raise_for_status().json()
    async with httpx.AsyncClient(trust_env=False) as s3:
        sent = await s3.put(offer["upload"]["url"], content=data, headers=offer["upload"]["headers"])
    assert sent.status_code == 200, sent.text
    return offer["documentId"]


async def ended(person, document):
    """Wait until a document has come to an end; give what is known of it then."""
    ends = {"READY", "EMPTY", "NEEDS_OCR", "ENCRYPTED", "UNSUPPORTED", "TOO_LARGE", "CORRUPT", "FAILED"}

    async def look():
        reply = await person.http.get(f"{PATH}/{document}")
        return reply.status_code == 200 and reply.json()["state"] in ends and reply.json()

    return await until(look, "the document's end", seconds=120)


async def test_an_uploaded_file_becomes_searchable_and_is_deleted(people):
    # KB22, KB26, OB02
    person, stranger = people.someone(), people.someone()
    file = pdf("The heron stands in the river.", PdfPage(["The egret stands on the shore."]))
    document = await upload(person, "c++ notes über 100%.pdf", file)

    body = await ended(person, document)
    assert (body["state"], body["reason"]) == ("READY", "")
    assert (body["name"], body["kind"], body["pages"], body["pagesDone"]) == ("c++ notes über 100%.pdf", "pdf", 2, 2)
    assert body["chunks"] == body["chunksDone"] > 0
    (run,) = (await person.http.get(f"{PATH}/{document}/runs")).json()["runs"]
    assert {span["status"] for span in run["spans"]} == {"ok"}

    assert (await stranger.http.get(PATH)).json() == {"documents": []}
    assert (await stranger.http.get(f"{PATH}/{document}")).status_code == 404

    assert (await person.http.delete(f"{PATH}/{document}")).status_code == 204
    assert (await person.http.get(f"{PATH}/{document}")).status_code == 404


async def test_a_document_is_gone_over_again(people):
    # KB20
    person = people.someone()
    document = await upload(person, "notes.md", b"# Heron\n\nThe heron stands in the river.", "text/markdown")
    await ended(person, document)
    again = await person.http.post(f"{PATH}/{document}/reprocess", json={"mode": "chunksOnly"})
    assert again.status_code == 202
    assert (await ended(person, document))["state"] == "READY"

    async def both():
        runs = (await person.http.get(f"{PATH}/{document}/runs")).json()["runs"]
        return len(runs) == 2 and runs

    newest, _ = await until(both, "two runs")
    assert (newest["origin"], newest["mode"]) == ("kb-reprocess", "chunksOnly")


async def test_a_scan_says_that_it_needs_what_is_not_there(people):
    person = people.someone()
    document = await upload(person, "scan.pdf", pdf(PdfPage(picture=0.9)))
    body = await ended(person, document)
    assert (body["state"], body["retryable"], "OCR" in body["reason"]) == ("NEEDS_OCR", True, True)
