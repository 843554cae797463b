// Calls the shapes project with the generated client: Live <url> <token> <library>
import java.nio.file.Files;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.FilesApi;
import org.openapitools.client.api.SearchApi;
import org.openapitools.client.api.ValuesApi;
import org.openapitools.client.model.*;

public class Live {
  static final UUID TENANT = UUID.fromString("3f2504e0-4f89-41d3-9a0c-0305e82c3301");

  static void check(boolean isRight, Object what) {
    if (!isRight) throw new AssertionError(what);
  }

  public static void main(String[] args) throws Exception {
    ApiClient client = CLIENT;
    var file = Files.createTempFile("shapes", ".bin");
    var bytes = new byte[256];
    for (int i = 0; i < 256; i++) bytes[i] = (byte) i;
    Files.write(file, bytes);
    // of the two libraries, one sends a list in a form as JSON, the other texts as ISO-8859-1
    var tags = args[2].equals("native") ? List.of("a", "b") : null;
    var made = new FilesApi(client).uploadFile(file.toFile(), "a note", tags);
    check(made.getBytes() == 256 && made.getSum() == 32640, made);
    check(made.getNote().equals("a note") && made.getTags().equals(tags == null ? List.of() : tags), made);
    var part = new FilesApi(client).downloadFile("a b", "bytes=1-3", null);
    check(List.of(Files.readAllBytes(part.toPath()).length).equals(List.of(3)), part);

    var search = new SearchApi(client);
    var found = search.search(TENANT, List.of("x y", "a&b"), Color._1ST, 5, LocalDate.of(2026, 2, 3), "yes", "high", "dark");
    check(found.getTag().equals(List.of("x y", "a&b")) && found.getLimit() == 5 && found.getExact(), found);
    check(found.getFrom().equals(LocalDate.of(2026, 2, 3)) && found.getRank().equals("high") && found.getTenant().equals(TENANT), found);
    try {
      search.search(TENANT, null, null, 100, null, null, null, null);
      throw new AssertionError("a conflict");
    } catch (ApiException error) {
      check(error.getCode() == 409 && error.getResponseBody().contains("TOO_MANY"), error);
    }

    var api = new ValuesApi(client);
    var given = new Values().text("ä").day(LocalDate.of(2026, 2, 3)).at(OffsetDateTime.parse("2026-02-03T04:05:06Z"))
        .count((1L << 53) - 1).ratio(0.1).isOpen(false).color(Color.DARK_BLUE)
        .labels(Map.of("a", 1L)).matrix(List.of(List.of(1L), List.of()))
        .shape(new Shape(new Circle().kind(Circle.KindEnum.CIRCLE).radius(1.5)))
        .shapes(List.of(
            new Shape(new Ball().kind(Ball.KindEnum.BALL).radius(2.0)),
            new Shape(new Square().kind(Square.KindEnum.SQUARE).side(3))))
        .thread(new Comment().text("a").answers(List.of(new Comment().text("b").answers(List.of()))));
    // the other library leaves out null
    given.note(args[2].equals("native") ? null : "n");
    var values = api.putValues(12L, given);
    check(values.equals(given), values);
    check("b".equals(api.patchValues(12L, new Changes().text("b")).getText()), "changes");
    api.removeValues(12L);
    System.out.println("called");
  }
}
