"""Calls the shapes project with the generated client: live.py <folder of the client> <url> <token>"""
import sys
from datetime import date, datetime, timezone
from uuid import UUID

sys.path.insert(0, sys.argv[1])
import openapi_client as client

TENANT = UUID("3f2504e0-4f89-41d3-9a0c-0305e82c3301")
BYTES = bytes(range(256))

with client.ApiClient(client.Configuration(host=sys.argv[2])) as connection:
    files, values = client.FilesApi(connection), client.ValuesApi(connection)
    made = files.upload_file(file=("ä b.bin", BYTES), note="größe", tags=["a", "b"])
    assert (made.name, made.bytes, made.sum, made.note, made.tags) == ("ä b.bin", 256, 32640, "größe", ["a", "b"]), made
    assert bytes(files.download_file("a b")) == BYTES
    assert bytes(files.download_file("a b", range="bytes=1-3")) == b"\1\2\3"
    # the generator leaves out cookies
    search = client.SearchApi(connection)
    found = search.search(
        TENANT, tag=["x y", "a&b"], color=client.Color.ENUM_1ST, limit=5,
        var_from=date(2026, 2, 3), exact="yes", x_rank="high",
    )
    assert found.to_dict() == {
        "tag": ["x y", "a&b"], "color": "1st", "limit": 5, "from": date(2026, 2, 3), "exact": True,
        "tenant": TENANT, "rank": "high",
    }, found
    try:
        search.search(TENANT, limit=100)
        raise AssertionError("a conflict")
    except client.ApiException as error:
        assert (error.status, error.data.code, error.data.limit) == (409, "TOO_MANY", 99)
    given = client.Values(
        text="ä", day=date(2026, 2, 3), at=datetime(2026, 2, 3, 4, 5, 6, tzinfo=timezone.utc), count=2**53 - 1,
        ratio=0.1, isOpen=False, color=client.Color.DARK_MINUS_BLUE, note=None, labels={"a": 1}, matrix=[[1], []],
        shape=client.Shape(client.Circle(kind="circle", radius=1.5)),
        shapes=[client.Shape(client.Ball(kind="ball", radius=2)), client.Shape(client.Square(kind="square", side=3))],
        thread=client.Comment(text="a", answers=[client.Comment(text="b", answers=[])]),
    )
    answer = values.put_values_with_http_info(12, given)
    assert answer.data == given, answer.data
    assert answer.headers["x-value"] == "12"
    assert values.patch_values(12, client.Changes(note=None)).to_dict() == {"note": None}
    assert values.patch_values(12, client.Changes(text="b")).text == "b"
    values.remove_values(12)
print("called")
