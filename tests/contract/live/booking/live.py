"""Calls the booking example with the generated client: live.py <folder of the client> <url> <token>"""
import sys
import time

sys.path.insert(0, sys.argv[1])
import openapi_client as client
import urllib3

settings = client.Configuration(host=sys.argv[2], access_token=sys.argv[3])
with client.ApiClient(settings) as connection:
    rooms, bookings = client.RoomsApi(connection), client.BookingsApi(connection)
    room = rooms.post_room(client.RoomInput(name=f"Python {time.time_ns()}"))
    assert rooms.get_room(room.id).name == room.name
    form = rooms.post_photo(room.id, client.PostPhotoRequest(contentType="image/png"))
    file = ("photo.png", b"\x89PNG\r\n\x1a\n")
    assert urllib3.request("POST", form.url, fields={**form.fields, "file": file}).status == 204
    stay = client.BookingInput(roomId=room.id, arrival="2101-01-01", departure="2101-01-03")
    booking = bookings.post_booking(stay, idempotency_key=f"python-{time.time_ns()}")
    assert booking.status == "requested"
    try:
        bookings.post_booking(stay, idempotency_key=f"python-{time.time_ns()}")
        raise AssertionError("the nights are taken")
    except client.ApiException as error:
        assert (error.status, error.data.code) == (409, "UNIQUE_VIOLATION")
    bookings.remove_booking(booking.id)
print("called")
