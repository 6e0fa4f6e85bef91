"""Files of every type, made by code: as small as a reader takes them, and damaged where a test wants that."""

import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO

A4 = (595, 842)


@dataclass(frozen=True)
class PdfFont:
    """A font: how its codes are encoded, and which letters they say that they are."""

    encoding: bytes = b"/WinAnsiEncoding"
    letters: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PdfPage:
    """One page: lines of text from the top, or its content as PDF operators; and how much of it a picture covers."""

    lines: Sequence[str] = ()
    content: bytes = b""
    size: tuple[int, int] = A4
    rotate: int = 0
    picture: float = 0.0
    fields: bytes = b""


def pdf(
    *pages: PdfPage | str, fonts: Mapping[str, PdfFont] | None = None, catalog: bytes = b"", trailer: bytes = b""
) -> bytes:
    """A PDF; its font ``F1`` is Helvetica."""
    whole = [page if isinstance(page, PdfPage) else PdfPage(page.split("\n")) for page in pages]
    objects: list[bytes] = []

    def add(body: bytes) -> int:
        objects.append(body)
        return len(objects)

    root, tree = add(b""), add(b"")
    font_objects = {
        name: add(_font(font, add(stream(_letters(font)))))
        for name, font in ({"F1": PdfFont()} | dict(fonts or {})).items()
    }
    picture = add(
        stream(
            bytes(64 * [0x80]), b"/Type/XObject/Subtype/Image/Width 8/Height 8/ColorSpace/DeviceGray/BitsPerComponent 8"
        )
    )
    font_list = b" ".join(b"/%s %d 0 R" % (name.encode(), number) for name, number in font_objects.items())
    resources = add(b"<</Font<<%s>>/XObject<</Im1 %d 0 R>>>>" % (font_list, picture))
    contents: dict[bytes, int] = {}
    kids: list[int] = []
    for page in whole:
        drawn = _content(page)
        if drawn not in contents:
            contents[drawn] = add(stream(drawn))
        kids.append(
            add(
                b"<</Type/Page/Parent %d 0 R/MediaBox[0 0 %d %d]/Rotate %d/Resources %d 0 R/Contents %d 0 R%s>>"
                % (tree, *page.size, page.rotate, resources, contents[drawn], page.fields)
            )
        )
    objects[root - 1] = b"<</Type/Catalog/Pages %d 0 R%s>>" % (tree, catalog)
    objects[tree - 1] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(kids), b" ".join(b"%d 0 R" % kid for kid in kids))
    return _written(objects, root, trailer)


def table_page(rows: Sequence[Sequence[str]], width: int = 150) -> PdfPage:
    """A page with a table whose cells have borders."""
    content = b""
    for r, row in enumerate(rows):
        for c, cell in enumerate(row):
            left, bottom = 72 + c * width, 720 - r * 18
            content += b"BT /F1 11 Tf %d %d Td (%s) Tj ET\n" % (left, bottom, _escaped(cell))
            content += b"%d %d %d 18 re S\n" % (left - 4, bottom - 4, width)
    return PdfPage(content=content)


def stream(body: bytes, dictionary: bytes = b"") -> bytes:
    """A stream object."""
    return b"<<%s/Length %d>>stream\n%s\nendstream" % (dictionary, len(body), body)


def encrypted_pdf() -> bytes:
    """A PDF whose password is not the empty one."""
    lock = b"/Encrypt<</Filter/Standard/V 1/R 2/P -4/O(%s)/U(%s)>>/ID[(0123456789abcdef)(0123456789abcdef)]"
    return pdf("secret", trailer=lock % (b"o" * 32, b"u" * 32))


def pdf_with_circular_outline() -> bytes:
    """A PDF whose table of contents never ends: each entry is the next one's next."""
    # Objects 1 to 6 are catalog, tree, the font's two, picture and resources; 7 and 8 are the page's.
    whole = pdf("The page itself.", catalog=b"/Outlines 9 0 R")
    outline = (
        b"9 0 obj<</Type/Outlines/First 10 0 R/Last 11 0 R/Count 2>>endobj\n"
        b"10 0 obj<</Title(a)/Parent 9 0 R/Next 11 0 R/First 11 0 R/Dest[8 0 R/Fit]>>endobj\n"
        b"11 0 obj<</Title(b)/Parent 10 0 R/Next 10 0 R/First 10 0 R/Dest[8 0 R/Fit]>>endobj\n"
    )
    # Without a directory a reader looks for the objects itself.
    body = whole[: whole.rindex(b"xref\n0")]
    return body + outline + b"trailer<</Root 1 0 R/Size 12>>\n%%EOF"


def _font(font: PdfFont, letters: int) -> bytes:
    named = b"/ToUnicode %d 0 R" % letters if font.letters else b""
    return b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding%s%s>>" % (font.encoding, named)


def _letters(font: PdfFont) -> bytes:
    pairs = b" ".join(
        b"<%02x> <%s>" % (code, letter.encode("utf-16-be").hex().encode()) for code, letter in font.letters.items()
    )
    return (
        b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Letters def /CMapType 2 def\n"
        b"1 begincodespacerange <00> <ff> endcodespacerange\n%d beginbfchar %s endbfchar\n"
        b"endcmap CMapName currentdict /CMap defineresource pop end end" % (len(font.letters), pairs)
    )


def _content(page: PdfPage) -> bytes:
    width, height = page.size
    drawn = page.content
    if page.picture:
        side = page.picture**0.5
        drawn += b"q %f 0 0 %f 0 0 cm /Im1 Do Q\n" % (width * side, height * side)
    if page.lines:
        shown = b" ".join(b"(%s)' " % _escaped(line) for line in page.lines)
        drawn += b"BT /F1 12 Tf 14 TL 72 %d Td %s ET" % (height - 72, shown)
    return drawn


def _escaped(line: str) -> bytes:
    return line.encode("cp1252").replace(b"\\", rb"\\").replace(b"(", rb"\(").replace(b")", rb"\)")


def _written(objects: Sequence[bytes], root: int, trailer: bytes) -> bytes:
    file = bytearray(b"%PDF-1.7\n")
    places: list[int] = []
    for number, body in enumerate(objects, start=1):
        places.append(len(file))
        file += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(file)
    file += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    file += b"".join(b"%010d 00000 n \n" % place for place in places)
    file += b"trailer\n<</Size %d/Root %d 0 R%s>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, root, trailer, start)
    return bytes(file)


def archive(parts: Mapping[str, str | bytes], *, packed: bool = True) -> bytes:
    """A zip archive."""
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as zipped:
        for name, part in parts.items():
            zipped.writestr(name, part)
    return file.getvalue()


_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_SLIDE = "http://schemas.openxmlformats.org/presentationml/2006/main"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"


def _office(main: str, content_type: str, parts: Mapping[str, str | bytes]) -> bytes:
    kind = f"application/vnd.openxmlformats-officedocument.{content_type}.main+xml"
    types = (
        f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="xml" ContentType="application/xml"/>'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/{main}" ContentType="{kind}"/></Types>'
    )
    return archive(
        {"[Content_Types].xml": types, "_rels/.rels": relationships({"r1": ("officeDocument", main)})} | dict(parts)
    )


def relationships(targets: Mapping[str, tuple[str, str]]) -> str:
    """The relationships of a part: id, kind and target."""
    entries = "".join(
        f'<Relationship Id="{key}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for key, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{entries}</Relationships>'


def docx(body: str, **parts: str) -> bytes:
    """A Word file with the given body; see :func:`paragraph`."""
    document = f'<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>'
    return _office("word/document.xml", "wordprocessingml.document", {"word/document.xml": document} | parts)


def paragraph(text: str, style: str = "") -> str:
    """A paragraph of a Word file."""
    styled = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{styled}<w:r><w:t>{text}</w:t></w:r></w:p>"


def word_table(rows: Sequence[Sequence[str]]) -> str:
    """A table of a Word file."""
    cells = ("".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in rows)
    return "<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in cells) + "</w:tbl>"


def xlsx(sheets: Mapping[str, Sequence[Sequence[str]]]) -> bytes:
    """A workbook."""
    names = list(sheets)
    listed = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>' for n, name in enumerate(names, start=1))
    parts: dict[str, str | bytes] = {
        "xl/workbook.xml": f'<workbook xmlns="{_SHEET}" xmlns:r="{_OFFICE}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": relationships(
            {f"r{n}": ("worksheet", f"worksheets/sheet{n}.xml") for n in range(1, len(names) + 1)}
        ),
    }
    for n, name in enumerate(names, start=1):
        rows = "".join(
            f'<row r="{r}">'
            + "".join(
                f'<c r="{chr(65 + c)}{r}" t="inlineStr"><is><t>{cell}</t></is></c>'
                for c, cell in enumerate(row)
                if cell
            )
            + "</row>"
            for r, row in enumerate(sheets[name], start=1)
        )
        parts[f"xl/worksheets/sheet{n}.xml"] = f'<worksheet xmlns="{_SHEET}"><sheetData>{rows}</sheetData></worksheet>'
    return _office("xl/workbook.xml", "spreadsheetml.sheet", parts)


def pptx(*slides: str, lists_slides: bool = True) -> bytes:
    """A presentation; each slide is one box with the given text. The first slide is the last part."""
    order = list(range(len(slides), 0, -1))
    entries = "".join(f'<p:sldId id="{255 + n}" r:id="r{n}"/>' for n in order)
    listed = f"<p:sldIdLst>{entries}</p:sldIdLst>" if lists_slides else ""
    parts: dict[str, str | bytes] = {
        "ppt/presentation.xml": (f'<p:presentation xmlns:p="{_SLIDE}" xmlns:r="{_OFFICE}">{listed}</p:presentation>'),
        "ppt/_rels/presentation.xml.rels": relationships({f"r{n}": ("slide", f"slides/slide{n}.xml") for n in order}),
        "ppt/media/picture.bin": bytes(1000),
    }
    for n, text in zip(order, slides, strict=True):
        shape = f"<p:sp><p:nvSpPr/><p:spPr/><p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
        parts[f"ppt/slides/slide{n}.xml"] = (
            f'<p:sld xmlns:p="{_SLIDE}" xmlns:a="{_DRAWING}"><p:cSld><p:spTree>{shape}</p:spTree></p:cSld></p:sld>'
        )
    return _office("ppt/presentation.xml", "presentationml.presentation", parts)


def odt(text: str, manifest: str = "") -> bytes:
    """An OpenDocument text."""
    office = "urn:oasis:names:tc:opendocument:xmlns"
    content = (
        f'<office:document-content xmlns:office="{office}:office:1.0" xmlns:text="{office}:text:1.0">'
        f"<office:body><office:text><text:p>{text}</text:p></office:text></office:body></office:document-content>"
    )
    listed = f'<manifest:manifest xmlns:manifest="{office}:manifest:1.0">{manifest}</manifest:manifest>'
    return archive(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": content,
            "META-INF/manifest.xml": listed,
        }
    )


@cache
def zip_bomb(megabytes: int = 130) -> bytes:
    """A Word file of little more than a hundred kilobytes that unpacks to far more."""
    packing = zlib.compressobj(1, zlib.DEFLATED, -15)
    block, checksum, packed = bytes(1 << 20), 0, bytearray()
    for _ in range(megabytes):
        packed += packing.compress(block)
        checksum = zlib.crc32(block, checksum)
    return _zip_of_one("word/document.xml", bytes(packed + packing.flush()), megabytes << 20, checksum)


def lying_zip_bomb(megabytes: int = 130) -> bytes:
    """The same, but its directory says that it unpacks to 1,000 bytes."""
    return zip_bomb(megabytes).replace(struct.pack("<I", megabytes << 20), struct.pack("<I", 1000))


def _zip_of_one(name: str, packed: bytes, size: int, checksum: int) -> bytes:
    raw = name.encode()
    common = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 33, checksum, len(packed), size, len(raw), 0)
    local = b"PK\x03\x04" + common + raw + packed
    central = b"PK\x01\x02" + struct.pack("<H", 20) + common + struct.pack("<HHHII", 0, 0, 0, 0, 0) + raw
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)
    return local + central + end


def compound_file(*names: str) -> bytes:
    """An OLE file with empty streams of the given names, as old Office files and encrypted new ones are."""
    sector = 512
    no_stream, end_of_chain, fat_sector, free = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFF
    header = struct.pack(
        "<8s16sHHHHH6sIIIIIIIIII",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"", 0x3E, 3, 0xFFFE, 9, 6, b"",
        0, 1, 1, 0, 4096, end_of_chain, 0, end_of_chain, 0, 0,
    )  # fmt: skip
    header = header[:76].ljust(76, b"\0") + struct.pack("<109I", 0, *[free] * 108)
    fat = struct.pack("<128I", fat_sector, end_of_chain, *[free] * 126)
    entries = [_entry("Root Entry", 5, child=1 if names else no_stream)]
    for n, name in enumerate(names, start=1):
        entries.append(_entry(name, 2, right=n + 1 if n < len(names) else no_stream))
    directory = b"".join(entries).ljust(sector, b"\0")
    return header + fat + directory


def _entry(name: str, kind: int, *, right: int = 0xFFFFFFFF, child: int = 0xFFFFFFFF) -> bytes:
    raw = (name + "\0").encode("utf-16-le")
    return (
        struct.pack("<64sHBBIII", raw, len(raw), kind, 1, 0xFFFFFFFF, right, child)
        + bytes(36)
        + struct.pack("<IQ", 0xFFFFFFFE, 0)
    )


def png(width: int = 8, height: int = 8) -> bytes:
    """A grey picture."""
    rows = (b"\0" + bytes(width * [0x80])) * height
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in parts
    )
