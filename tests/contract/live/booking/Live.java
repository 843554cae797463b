// Calls the booking example with the generated client: Live <url> <token>
import java.time.LocalDate;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.BookingsApi;
import org.openapitools.client.api.RoomsApi;
import org.openapitools.client.model.BookingInput;
import org.openapitools.client.model.PostPhotoRequest;
import org.openapitools.client.model.RoomInput;

public class Live {
  static void check(boolean isRight, Object what) {
    if (!isRight) throw new AssertionError(what);
  }

  public static void main(String[] args) throws Exception {
    ApiClient client = CLIENT;
    RoomsApi rooms = new RoomsApi(client);
    BookingsApi bookings = new BookingsApi(client);
    var room = rooms.postRoom(new RoomInput().name("Java " + System.nanoTime()));
    check(rooms.getRoom(room.getId()).getName().equals(room.getName()), room);
    var form = rooms.postPhoto(room.getId(), new PostPhotoRequest().contentType("image/png"));
    check("image/png".equals(form.getFields().get("Content-Type")), form);
    var stay = new BookingInput().roomId(room.getId())
        .arrival(LocalDate.of(2101, 1, 1)).departure(LocalDate.of(2101, 1, 3));
    var booking = bookings.postBooking(stay, "java-" + System.nanoTime());
    check("requested".equals(booking.getStatus().getValue()), booking);
    try {
      bookings.postBooking(stay, "java-" + System.nanoTime());
      throw new AssertionError("the nights are taken");
    } catch (ApiException error) {
      check(error.getCode() == 409 && error.getResponseBody().contains("UNIQUE_VIOLATION"), error);
    }
    bookings.removeBooking(booking.getId());
    System.out.println("called");
  }
}
