import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import * as z from "zod";
import { ConfigurationError } from "../../errors/mod.ts";
import { createHttpApiEvent, createLambdaContext } from "../../testing/mod.ts";
import {
  buildOpenApiDocument,
  defineApiHandler,
  paginate,
  type PaginateOptions,
  toIsoDateTime,
} from "../../validation/mod.ts";

const Note = z.object({ id: z.int(), tag: z.string() });
const Filters = z.object({
  tag: z.string().optional(),
  ids: z.array(z.coerce.number()).optional(),
});
const Position = z.tuple([z.iso.datetime(), z.int()]);
type Position = z.infer<typeof Position>;
const ROWS = Array.from(
  { length: 7 },
  (_, id) => ({ id, tag: id % 2 === 0 ? "even" : "odd", secret: id }),
);
const at = toIsoDateTime("2026-11-23 18:16:29.854+00");

function serve(
  options: Partial<
    PaginateOptions<Position, z.infer<typeof Filters>, unknown, z.input<typeof Note>>
  > = {},
) {
  const page = paginate({
    item: Note,
    position: Position,
    filters: Filters,
    limit: 3,
    maxLimit: 5,
    ...options,
  });
  const handler = defineApiHandler({
    querySchema: page.querySchema,
    responses: page.responses,
    logging: { level: "SILENT" },
    metrics: false,
  })(function listNotes({ event, query: { take, after, filters }, ...params }) {
    const found = ROWS.filter(({ id, tag }) =>
      id > (after?.[1] ?? -1) && (filters.tag === undefined || tag === filters.tag)
    );
    return page.reply(
      event,
      { take, after, filters, ...params },
      found.slice(0, take),
      ({ id }) => [at, id],
    );
  });
  async function get(query: Record<string, string | string[]>) {
    const { statusCode, headers, body } = await handler(
      createHttpApiEvent({ query }) as never,
      createLambdaContext(),
    );
    return { status: statusCode, link: headers?.link as string | undefined, ...JSON.parse(body) };
  }
  return { get, handler };
}

for (const secret of [undefined, () => "a secret of at least 32 characters"]) {
  Deno.test(`paginate() leads through all rows with ${secret ? "signed" : "plain"} cursors`, async () => {
    const { get } = serve(secret && { secret });
    const seen: unknown[] = [];
    let query: Record<string, string | string[]> = { tag: "even", limit: "2", ids: ["1", "2"] };
    for (let count = 1; count <= 2; count++) {
      const { items, nextCursor, link } = await get(query);
      seen.push(...items);
      if (nextCursor === null) {
        assertEquals([count, link], [2, undefined]);
        break;
      }
      const [, next] = /^<\?(.*)>; rel="next"$/.exec(link!)!;
      const parameters = new URLSearchParams(next);
      assertEquals(parameters.get("cursor"), nextCursor);
      assertEquals(parameters.getAll("ids"), ["1", "2"]);
      query = { ...query, cursor: nextCursor };
    }
    assertEquals(seen, [0, 2, 4, 6].map((id) => ({ id, tag: "even" })));
  });

  Deno.test(`paginate() refuses ${secret ? "signed" : "plain"} cursors of other filters and lists`, async () => {
    const { get } = serve(secret && { secret });
    const { nextCursor } = await get({ tag: "even" });
    assertEquals((await get({ tag: "even", cursor: nextCursor })).status, 200);
    const own = btoa(JSON.stringify([[at, 3], { tag: "even" }])).replace(/=+$/, "");
    const foreign = btoa(JSON.stringify([["yesterday", 3], { tag: "even" }]));
    for (
      const [tag, cursor] of [["odd", nextCursor], ["even", "%"], ["even", foreign], [
        "even",
        `${nextCursor}x`,
      ]]
    ) {
      const { status, errors } = await get({ tag, cursor });
      assertEquals([status, Object.keys(errors)], [400, ["cursor"]]);
    }
    assertEquals((await get({ tag: "even", cursor: own })).status, secret ? 400 : 200);
  });
}

Deno.test("paginate() checks its limits, and positions before they become cursors", async () => {
  const { get } = serve();
  assertEquals((await get({})).items.length, 3);
  assertEquals((await get({ limit: "5" })).items.length, 5);
  assertEquals((await get({ limit: "6" })).status, 400);
  const other = serve({ position: z.tuple([z.iso.datetime(), z.int().min(100)]) });
  assertEquals((await other.get({})).status, 500);
  assertEquals((await serve({ secret: "short" }).get({})).status, 500);
  const refuse = (options: object, text: string) =>
    assertStringIncludes(
      assertThrows(
        () => paginate({ item: Note, position: Position, ...options }),
        ConfigurationError,
      ).message,
      text,
    );
  refuse({ limit: 200 }, "limit <= maxLimit, got 200 and 100");
  refuse({ filters: z.object({ cursor: z.string() }) }, "the field cursor");
});

Deno.test("paginate() describes its query and its page", () => {
  const { operation } = serve().handler;
  const { paths } = buildOpenApiDocument({ title: "Notes", version: "1.0.0" }, [
    { method: "GET", path: "/notes", operation },
  ]);
  // deno-lint-ignore no-explicit-any
  const { parameters, responses } = paths["/notes"].get as any;
  // deno-lint-ignore no-explicit-any
  assertEquals(parameters.map((p: any) => [p.name, p.required, p.schema.type]), [
    ["limit", false, "integer"],
    ["cursor", false, "string"],
    ["tag", false, "string"],
    ["ids", false, "array"],
  ]);
  // one byte for each character: an address of 16 KB is refused before it reaches a function
  const { maxLength, pattern } = parameters[1].schema;
  assertEquals([maxLength, new RegExp(pattern).test("é")], [2000, false]);
  assertEquals(parameters[0].schema, {
    default: 3,
    maximum: 5,
    minimum: 1,
    type: "integer",
    format: "int32",
  });
  assertEquals(responses[200].content["application/json"].schema.required, ["items", "nextCursor"]);
  assertEquals(responses[200].headers.link, { required: false, schema: { type: "string" } });
});

Deno.test("toIsoDateTime() converts PostgreSQL's dates to UTC and keeps microseconds", () => {
  const DATES = {
    "2026-11-23 18:16:29.854+00": "2026-11-23T18:16:29.854Z",
    "2026-11-23 18:16:29+00": "2026-11-23T18:16:29Z",
    "2026-01-01 00:30:00.000001+05:30": "2025-12-31T19:00:00.000001Z",
    "1899-12-31 23:00:00-00:25:21": "1899-12-31T23:25:21Z",
    "2026-11-23T18:16:29.854321Z": "2026-11-23T18:16:29.854321Z",
  };
  for (const [text, iso] of Object.entries(DATES)) {
    assertEquals(z.iso.datetime().parse(toIsoDateTime(text)), iso);
  }
  for (
    const text of [
      "infinity",
      "0044-03-15 12:00:00+00 BC",
      "2026-11-23 18:16:29",
      "2026-13-23 18:16:29+00",
      "9999-12-31 23:00:00-02",
    ]
  ) {
    assertThrows(() => toIsoDateTime(text), RangeError, JSON.stringify(text));
  }
});
