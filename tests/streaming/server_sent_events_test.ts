import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import * as fc from "fast-check";
import { createHttpApiEvent, createLambdaContext, createRestApiEvent } from "../../testing/mod.ts";
import { ConfigurationError } from "../../errors/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import {
  type EventSourceInput,
  type EventStreamOptions,
  getLastEventId,
  responseStreaming,
  type ServerSentEvent,
  streamEvents,
  streamResponse,
} from "../../streaming/mod.ts";
import { withKeepAlive } from "../../streaming/server_sent_events.ts";
import { testSeed } from "../support/seed.ts";
import { anyCharacter } from "../support/any_character.ts";

const RUNS = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 20_000 : 150;

async function render(source: EventSourceInput, options?: EventStreamOptions): Promise<string> {
  const handler = defineApiHandler({
    streaming: responseStreaming(),
    logging: { level: "SILENT" },
    metrics: false,
  })(() => streamEvents(source, options));
  const { statusCode, body } = await handler(createRestApiEvent(), createLambdaContext());
  if (statusCode !== 200) throw new Error(body);
  return body;
}

interface Dispatched {
  type: string;
  data: string;
  lastEventId: string;
}

/** Interprets an event stream (HTML Standard, section 9.2.6). */
function parse(text: string): Dispatched[] {
  const events: Dispatched[] = [];
  let type = "", data: string[] = [], lastEventId = "";
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (line === "") {
      if (data.length > 0) {
        events.push({ type: type || "message", data: data.join("\n"), lastEventId });
      }
      type = "";
      data = [];
      continue;
    }
    const colon = line.indexOf(":");
    if (colon === 0) continue;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") type = value;
    else if (field === "data") data.push(value);
    else if (field === "id") lastEventId = value;
  }
  return events;
}

Deno.test("streamEvents() renders any event so that an EventSource reads the same", async () => {
  const line = fc.string({ unit: anyCharacter }).filter((text) =>
    !["\r", "\n", "\0"].some((char) => text.includes(char))
  );
  const text = fc.array(fc.constantFrom("a", ":", " ", "\n", "\r", "\r\n", "data: x", "é")).map((
    all,
  ) => all.join(""));
  const event = fc.record({
    data: fc.oneof(text, fc.string({ unit: anyCharacter })),
    event: fc.option(line, { nil: undefined }),
    id: fc.option(line, { nil: undefined }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 5 }), async (events) => {
      const body = await render((async function* () {
        yield* events;
      })());
      let lastEventId = "";
      assertEquals(
        parse(body),
        events.map(({ data, event, id }) => ({
          type: event || "message",
          data: data.replace(/\r\n|\r/g, "\n"),
          lastEventId: lastEventId = id ?? lastEventId,
        })),
      );
    }),
    { seed: testSeed, numRuns: RUNS },
  );
});

Deno.test("streamEvents() sends other values as JSON", async () => {
  const body = await render(async function* () {
    yield { data: { a: 1 }, retryMs: 1500 };
    yield { data: null };
  });
  assertEquals(body, 'retry: 1500\ndata: {"a":1}\n\ndata: null\n\n');
});

for (
  const [what, event] of [
    ["a type with a line break", { event: "a\nb", data: 1 }],
    ["an id with a line break", { id: "a\rb", data: 1 }],
    ["an id with a zero character", { id: "a\0b", data: 1 }],
    ["data that JSON cannot represent", { data: undefined }],
  ] as [string, ServerSentEvent][]
) {
  Deno.test(`streamEvents() refuses ${what}`, async () => {
    await assertRejects(
      () =>
        render(async function* () {
          yield event;
        }),
      Error,
      "UNEXPECTED",
    );
  });
}

Deno.test("streamEvents() and streamResponse() refuse invalid options", () => {
  const source = (async function* () {})();
  assertThrows(() => streamEvents(source, { keepAliveMs: -1 }), ConfigurationError, "keepAliveMs");
  assertThrows(() => streamResponse(source, { statusCode: 99 }), RangeError, "got 99");
});

Deno.test("withKeepAlive() repeats a text while the source is idle, and ends an abandoned source", async () => {
  let goOn!: () => void;
  const isIdle = new Promise<void>((resolve) => goOn = resolve);
  let isEnded = false;
  async function* source() {
    try {
      yield "a";
      await isIdle;
      yield "b";
      yield "c";
    } finally {
      isEnded = true;
    }
  }
  const parts: string[] = [];
  for await (const part of withKeepAlive(source(), 1, ":")) {
    parts.push(part);
    if (parts.length === 4) goOn();
    if (part === "b") break;
  }
  assertEquals([parts[0], parts.at(-1), isEnded], ["a", "b", true]);
  assertEquals(parts.slice(1, -1).every((part) => part === ":"), true);
});

Deno.test("getLastEventId() reads the header of any gateway", () => {
  const headers = { "Last-Event-ID": "42" };
  for (const event of [createRestApiEvent({ headers }), createHttpApiEvent({ headers })]) {
    assertEquals(getLastEventId(event), "42");
  }
  assertEquals(getLastEventId(createRestApiEvent()), undefined);
});
