import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import * as z from "zod";
import { getQuery } from "../../core/http/api_event.ts";
import { extractBearerToken } from "../../core/http/bearer_token.ts";
import { type ApiEvent, buildValidatedResponse, getOutgoingHeaders } from "../../core/mod.ts";
import { isCorrelationId } from "../../core/http/correlation_id.ts";
import { parseTraceparent, parseXrayHeader } from "../../observability/trace_context.ts";
import {
  createAlbEvent,
  createHttpApiEvent,
  createLambdaContext,
  createRestApiEvent,
} from "../../testing/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import { withEnv } from "../support/with_env.ts";
import { quietly } from "./quietly.ts";
import { properties } from "./seeded.ts";
import { anyCharacter } from "../support/any_character.ts";

const { property } = properties("request headers and queries", 1000);

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: anyCharacter }),
  fc.constantFrom("", " ", "\r\nX: y", "\0", "é", "😀"),
);
const hex = (length: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: length, maxLength: length });
const event = fc.constantFrom(createRestApiEvent, createHttpApiEvent, createAlbEvent);
/** A name in any case. */
const inAnyCase = (name: string): fc.Arbitrary<string> =>
  fc.mixedCase(fc.constant(name), { toggleCase: swapCase });

function swapCase(letter: string): string {
  return letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
}

/** What the contract says of an id, one character after the other. */
function isWellFormedId(id: string): boolean {
  const isKnown = (letter: string): boolean =>
    (letter >= "0" && letter <= "9") || (letter >= "A" && letter <= "Z") ||
    (letter >= "a" && letter <= "z") ||
    [".", "_", ":", "-"].includes(letter);
  return id.length >= 1 && id.length <= 128 && [...id].every(isKnown);
}

const id = fc.oneof(
  text,
  fc.stringMatching(/^[A-Za-z0-9._:-]{1,128}$/),
  fc.tuple(
    fc.stringMatching(/^[A-Za-z0-9._:-]{127,130}$/),
    fc.constantFrom("", "\n", " ", "é", "/"),
  ).map(([a, b]) => a + b),
);

const whoAmI = defineApiHandler()(({ metadata, context }) =>
  buildValidatedResponse(context, 200, { metadata, outgoing: getOutgoingHeaders() })
);

property(
  "the correlation id is the first well formed one, the same in response, metadata and outgoing headers",
  fc.asyncProperty(
    event,
    fc.option(fc.tuple(inAnyCase("x-correlation-id"), id), { nil: undefined }),
    fc.option(fc.tuple(inAnyCase("x-request-id"), id), { nil: undefined }),
    id,
    async (make, correlation, request, requestId) => {
      const headers = Object.fromEntries(
        [correlation, request].filter((header) => header !== undefined),
      );
      const asked = make({ headers, requestId });
      const answer = await whoAmI(asked, createLambdaContext());
      const { metadata, outgoing } = JSON.parse(answer.body);
      const given = [
        correlation?.[1],
        request?.[1],
        (asked.requestContext as { requestId?: string }).requestId,
        "x",
      ];
      const known = given.find((one) => one !== undefined && isWellFormedId(one));
      assertEquals(isCorrelationId(metadata.correlationId), true);
      if (known !== "x") assertEquals(metadata.correlationId, known);
      assertEquals(isWellFormedId(metadata.correlationId), true);
      assertEquals(outgoing["X-Correlation-Id"], metadata.correlationId);
      assertEquals(answer.headers?.["X-Correlation-Id"], metadata.correlationId);
    },
  ),
  quietly,
);

/** Texts near a well formed header: cut, doubled, in another case, with something before or behind. */
function near(sound: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.oneof(
    sound,
    text,
    fc.tuple(sound, fc.nat(60), text).map(([header, at, put]) =>
      header.slice(0, at) + put + header.slice(at)
    ),
    fc.tuple(sound, fc.nat(60), fc.nat(4)).map(([header, at, count]) =>
      header.slice(0, at) + header.slice(at + count)
    ),
    sound.map((header) => header.toUpperCase()),
    fc.tuple(sound, sound).map((both) => both.join(",")),
  );
}

const traceparent = near(
  fc.tuple(
    fc.constantFrom("00", "00", "00", "01", "ff", "cc"),
    fc.oneof(hex(32), fc.constant("0".repeat(32))),
    fc.oneof(hex(16), fc.constant("0".repeat(16))),
    fc.constantFrom("00", "01", "ff"),
    fc.constantFrom("", "", "-more", "-"),
  ).map(([version, trace, parent, flags, more]) => `${version}-${trace}-${parent}-${flags}${more}`),
);
const xray = near(
  fc.tuple(
    hex(8),
    hex(24),
    hex(16),
    fc.constantFrom("0", "1", "?", "", "2"),
    fc.shuffledSubarray([0, 1, 2, 3]),
  ).map((
    [epoch, unique, parent, sampled, order],
  ) =>
    order.map((at) =>
      [
        `Root=1-${epoch}-${unique}`,
        `Parent=${parent}`,
        `Sampled=${sampled}`,
        "Self=1;Lineage=a:0",
      ][at]
    )
      .join(";")
  ),
);

property(
  "parseTraceparent() and parseXrayHeader() give whole ids or nothing, and read again what they were given",
  fc.property(traceparent, xray, (w3c, amazon) => {
    const context = parseTraceparent(w3c);
    if (context !== undefined) {
      const { traceId, parentId, sampled } = context;
      assert(/^(?!0{32})[0-9a-f]{32}$/.test(traceId) && /^(?!0{16})[0-9a-f]{16}$/.test(parentId!));
      assertEquals(parseTraceparent(`00-${traceId}-${parentId}-0${sampled ? 1 : 0}`), context);
    }
    const root = parseXrayHeader(amazon);
    if (root === undefined) return;
    assert(/^1-[0-9a-f]{8}-[0-9a-f]{24}$/i.test(root.traceId));
    assert(root.parentId === undefined || /^[0-9a-f]{16}$/i.test(root.parentId));
    assert(amazon.includes(root.traceId) && amazon.includes(root.parentId ?? ""));
  }),
);

property(
  "getOutgoingHeaders() passes on headers that are well formed, in the trace that came, and nothing else of it",
  fc.asyncProperty(
    event,
    traceparent,
    xray,
    text,
    fc.nat(3),
    async (make, w3c, amazon, tracestate, which) => {
      const headers = {
        ...(which & 1 && { [which === 1 ? "Traceparent" : "traceparent"]: w3c, tracestate }),
        ...(which & 2 && { "X-Amzn-Trace-Id": amazon }),
      };
      const answer = await whoAmI(make({ headers }), createLambdaContext());
      assertEquals(answer.statusCode, 200);
      const { outgoing } = JSON.parse(answer.body) as { outgoing: Record<string, string> };
      for (const value of Object.values(outgoing)) {
        assert(
          /^[\x20-\x7e]{1,600}$/.test(value),
          JSON.stringify(value),
        );
      }
      const root = which & 2 ? parseXrayHeader(amazon) : undefined;
      const parent = which & 1 ? parseTraceparent(w3c) : undefined;
      const traceId = root === undefined
        ? parent?.traceId
        : root.traceId.slice(2).replace("-", "").toLowerCase();
      const sent = parseTraceparent(outgoing.traceparent);
      if (outgoing.traceparent !== undefined && traceId !== undefined && !/^0+$/.test(traceId)) {
        assertEquals(sent?.traceId, traceId);
      }
      if (outgoing["X-Amzn-Trace-Id"] !== undefined) {
        assertEquals(parseXrayHeader(outgoing["X-Amzn-Trace-Id"])?.traceId, root?.traceId);
      }
      if (outgoing.tracestate !== undefined) {
        assertEquals([outgoing.tracestate, root], [
          tracestate,
          undefined,
        ]);
      }
    },
  ),
  quietly,
);

const scheme = fc.oneof(
  inAnyCase("bearer"),
  fc.constantFrom("Basic", "Bearer:", "Token", "", " Bearer", "Bearer\t"),
);
const credential = fc.oneof(
  text,
  fc.stringMatching(/^[A-Za-z0-9._~+/%=-]{0,40}$/),
  fc.constantFrom(
    "t0ken",
    "t0ken=",
    "t0ken ",
    "T0KEN",
    "t0ke",
    "t0kenn",
    "t0ken\n",
    "t0ken, t0ken",
  ),
);
const authorization = fc.oneof(
  {
    arbitrary: fc.tuple(scheme, fc.constantFrom(" ", " ", "   ", "", "\t"), credential).map((
      parts,
    ) => parts.join("")),
    weight: 5,
  },
  { arbitrary: text, weight: 1 },
);

/** RFC 6750, section 2.1, read one part after the other. */
function getToken(header: string): string | null {
  if (header.slice(0, 6).toLowerCase() !== "bearer" || header[6] !== " ") return null;
  let at = 6;
  while (header[at] === " ") at++;
  let end = header.length;
  while (header[end - 1] === "=") end--;
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/%";
  const isToken = end > at &&
    [...header.slice(at, end)].every((letter) => letters.includes(letter));
  return isToken ? header.slice(at) : null;
}

property(
  "extractBearerToken() gives what RFC 6750 calls the token, and null for anything else",
  fc.property(
    authorization,
    (header) => assertEquals(extractBearerToken(header), getToken(header)),
  ),
);

const guarded = defineApiHandler({ auth: "bearer" })(({ context }) =>
  buildValidatedResponse(context, 200, {})
);

property(
  "a handler with auth 'bearer' lets in the one token and answers all else with 401",
  fc.asyncProperty(
    event,
    fc.option(fc.tuple(inAnyCase("authorization"), authorization), { nil: undefined }),
    async (make, header) => {
      const asked = make({ headers: header && { [header[0]]: header[1] } });
      const { statusCode } = await guarded(asked, createLambdaContext());
      assertEquals(
        statusCode,
        header !== undefined && getToken(header[1]) === "t0ken" ? 200 : 401,
        header?.[1],
      );
    },
  ),
  (run) => withEnv({ API_BEARER_TOKEN: "t0ken" }, () => quietly(run)),
);

const queries = fc.dictionary(
  fc.oneof(
    text,
    fc.constantFrom(
      "a",
      "a b",
      "a+b",
      "%",
      "%zz",
      "a[]",
      "a.b",
      "__proto__",
      "constructor",
      "toString",
    ),
  ),
  fc.array(text, { minLength: 1, maxLength: 3 }),
  { maxKeys: 5 },
);

property(
  "getQuery() reads the same parameters from every source",
  fc.property(queries, fc.boolean(), (query, multiValue) => {
    const wellFormed = (value: string): string => value.toWellFormed();
    const all = new Map<string, string[]>();
    for (const [key, values] of Object.entries(query)) {
      all.set(wellFormed(key), [...all.get(wellFormed(key)) ?? [], ...values.map(wellFormed)]);
    }
    const events: ApiEvent[] = [createRestApiEvent({ query }), createHttpApiEvent({ query })];
    if (multiValue) events.push(createAlbEvent({ query, multiValue }));
    for (const asked of events) {
      const read = [...getQuery(asked)].map(([key, values]) =>
        [wellFormed(key), values.map(wellFormed)] as const
      );
      const merged = new Map<string, string[]>();
      for (const [key, values] of read) merged.set(key, [...merged.get(key) ?? [], ...values]);
      assertEquals(Object.fromEntries(merged), Object.fromEntries(all));
    }
  }),
);

const search = defineApiHandler({
  querySchema: z.object({
    a: z.string().optional(),
    n: z.coerce.number().optional(),
    all: z.array(z.string()).optional(),
  }),
})(({ query, context }) => buildValidatedResponse(context, 200, query));

property(
  "a raw query string is read or refused with 400, and sets nothing on an object's prototype",
  fc.asyncProperty(
    fc.oneof(
      text,
      fc.array(fc.tuple(fc.constantFrom("a", "n", "all", "__proto__", "__proto__[a]", "%"), text), {
        maxLength: 40,
      }).map((pairs) => pairs.map((pair) => pair.join("=")).join("&")),
    ),
    async (rawQueryString) => {
      const answer = await search(
        { ...createHttpApiEvent({}), rawQueryString },
        createLambdaContext(),
      );
      assert(answer.statusCode === 200 || answer.statusCode === 400, String(answer.statusCode));
      assertEquals(Object.keys(Object.prototype), []);
      assertEquals(({} as { a?: unknown }).a, undefined);
    },
  ),
  quietly,
);
