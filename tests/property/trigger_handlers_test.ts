import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import fc from "fast-check";
import * as z from "zod";
import type { LambdaContext } from "../../core/mod.ts";
import {
  defineAuthorizerHandler,
  defineEventHandler,
  defineQueueHandler,
  defineScheduleHandler,
  defineStorageHandler,
  defineTopicHandler,
  defineWebSocketHandler,
  type SqsBatchResult,
  type SqsEvent,
} from "../../triggers/mod.ts";
import {
  createEventBridgeEvent,
  createHttpAuthorizerEvent,
  createLambdaContext,
  createQueueEvent,
  createRequestAuthorizerEvent,
  createScheduleEvent,
  createStorageEvent,
  createStorageEventBridgeEvent,
  createStorageTestEvent,
  createTokenAuthorizerEvent,
  createTopicEvent,
  createTopicNotification,
  createWebSocketConnectEvent,
  createWebSocketDisconnectEvent,
  createWebSocketMessageEvent,
} from "../../testing/mod.ts";
import { mangled } from "./mangled.ts";
import { captureLog, quietly } from "./quietly.ts";
import { properties } from "./seeded.ts";
import { anyCharacter } from "../support/any_character.ts";

const { property } = properties("handlers of queues, topics, buckets and the other triggers", 300);

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: anyCharacter }),
  fc.constantFrom("", "\0", "\r\nX: y", "%", "%zz"),
);
const schema = z.object({ n: z.number(), fails: z.boolean() });
/** Messages: those that are good, those that the handler fails, and those that no schema takes. */
const good = fc.record({ n: fc.integer(), fails: fc.boolean() });
const bad = fc.oneof(
  text,
  fc.constantFrom("{", "null", "[]", '{"__proto__":{"n":1}}', '{"n":"1"}', "[".repeat(9999)),
);
const message = fc.oneof({ arbitrary: good, weight: 3 }, { arbitrary: bad, weight: 1 });
const correlationId = fc.option(fc.oneof(text, fc.stringMatching(/^[a-z]{1,9}$/)), {
  nil: undefined,
});

type Message = string | { n: number; fails: boolean };

function succeeds(given: Message): boolean {
  return typeof given !== "string" && !given.fails;
}

async function work({ fails }: { fails: boolean }): Promise<void> {
  await Promise.resolve();
  if (fails) throw new Error("this one fails");
}

const ENVELOPES = {
  none: (given: Message) => given,
  topic: (given: Message) => createTopicNotification({ message: given }),
  event: (given: Message) => createEventBridgeEvent({ detail: given }),
} as const;
const QUEUES = (["none", "topic", "event"] as const).flatMap((envelope) =>
  [1, 3].map((concurrency) => ({
    envelope,
    handler: defineQueueHandler({ schema, envelope, concurrency })(({ body }) => work(body)),
  }))
);
const batch = fc.array(
  fc.record({ message, correlationId, groupId: fc.constantFrom("a", "b", undefined) }),
  {
    maxLength: 8,
  },
);
const queue = fc.constantFrom(...QUEUES);

property(
  "defineQueueHandler() reports the messages that failed, in a FIFO queue also those behind them in their group",
  fc.asyncProperty(queue, batch, fc.boolean(), async ({ envelope, handler }, messages, isFifo) => {
    const event = createQueueEvent(
      messages.map(({ message: given, ...rest }, at) => ({
        body: ENVELOPES[envelope](given),
        messageId: `m${at}`,
        ...rest,
      })),
      isFifo ? "q.fifo" : "q",
    );
    const failedGroups = new Set<string>();
    const expected = messages.flatMap(({ message: given, groupId = "group" }, at) => {
      const fails = !succeeds(given) || (isFifo && failedGroups.has(groupId));
      if (fails) failedGroups.add(groupId);
      return fails ? [{ itemIdentifier: `m${at}` }] : [];
    });
    const { batchItemFailures } = await handler(event, createLambdaContext());
    assertEquals(batchItemFailures, expected);
  }),
  quietly,
);

type AnyHandler<R> = (event: never, context: LambdaContext) => Promise<R>;

/** Calls a handler, which may refuse the event with an error, by rejecting and not by throwing; its log lines must be JSON. */
async function attempt<R>(handler: AnyHandler<R>, event: unknown): Promise<R | Error> {
  let outcome: R | Error | undefined;
  const writes = await captureLog(async () => {
    const pending = handler(event as never, createLambdaContext());
    outcome = await pending.catch((error: unknown) => {
      assertInstanceOf(error, Error);
      return error;
    });
  });
  for (const line of writes.join("").split("\n").filter((each) => each !== "")) JSON.parse(line);
  return outcome as R | Error;
}

function getIds(event: unknown): unknown[] | undefined {
  const records = (event as SqsEvent | null)?.Records;
  return Array.isArray(records) ? records.map((record) => record?.messageId) : undefined;
}

property(
  "defineQueueHandler() names only ids of the batch, and refuses nothing that has its ids",
  fc.asyncProperty(
    queue,
    mangled(
      fc.tuple(batch, fc.constantFrom("q", "q.fifo")).map(([messages, name]) =>
        createQueueEvent(messages.map(({ message: body, ...rest }) => ({ body, ...rest })), name)
      ),
    ),
    async ({ handler }, event) => {
      const ids = getIds(event);
      const outcome = await attempt<SqsBatchResult>(handler, event);
      if (ids === undefined || ids.some((id) => typeof id !== "string")) {
        assertInstanceOf(outcome, Error);
      } else {
        assert(!(outcome instanceof Error), String(outcome));
        for (const { itemIdentifier } of outcome.batchItemFailures) {
          assert(ids.includes(itemIdentifier));
        }
        assert(outcome.batchItemFailures.length <= ids.length);
      }
    },
  ),
);

Deno.test("defineQueueHandler() takes messages of a FIFO queue that a person wrote, without attributes", async () => {
  const { Records: [{ messageId, body, eventSourceARN }] } = createQueueEvent(
    [{ body: "{", messageId: "m1" }],
    "q.fifo",
  );
  const outcome = await attempt(QUEUES[0].handler, {
    Records: [{ messageId, body, eventSourceARN }],
  });
  assertEquals(outcome, { batchItemFailures: [{ itemIdentifier: "m1" }] });
});

let calls = 0;
const topic = defineTopicHandler({ schema })(({ message: given }) => {
  calls++;
  return work(given);
});

property(
  "defineTopicHandler() tries every message, and fails when one has failed",
  fc.asyncProperty(
    fc.array(fc.record({ message, correlationId }), { maxLength: 5 }),
    async (messages) => {
      calls = 0;
      const outcome = await attempt(topic, createTopicEvent(messages));
      assertEquals(
        outcome instanceof Error,
        messages.some(({ message: given }) => !succeeds(given)),
      );
      assertEquals(
        calls,
        messages.filter(({ message: given }) => typeof given !== "string").length,
      );
    },
  ),
);

const seen: { bucket: string; key: string; change: string }[] = [];
const storage = defineStorageHandler()(({ bucket, key, change }) => {
  seen.push({ bucket, key, change });
  if (key.startsWith("fail")) throw new Error("this one fails");
});
const objectKey = fc.oneof(
  fc.string({ minLength: 1, unit: "grapheme" }),
  fc.string({ minLength: 1 }),
  fc.constantFrom("a b+c%20d/é", "%", "fail", "../x", "%zz", "__proto__"),
);
const change = fc.record({
  bucket: fc.constantFrom("photos", "b-2"),
  key: objectKey.filter((key) => key.isWellFormed()),
  change: fc.constantFrom("created" as const, "deleted" as const),
}, { noNullPrototype: true });

property(
  "defineStorageHandler() hands over every change with its key as it is, and fails when one has failed",
  fc.asyncProperty(fc.array(change, { maxLength: 5 }), fc.boolean(), async (changes, bridged) => {
    const events = bridged
      ? changes.map(createStorageEventBridgeEvent)
      : [createStorageEvent(changes)];
    seen.length = 0;
    for (const event of events) {
      const { length } = seen;
      const outcome = await attempt(storage, event);
      assertEquals(
        outcome instanceof Error,
        seen.slice(length).some(({ key }) => key.startsWith("fail")),
      );
    }
    assertEquals(seen, changes);
  }),
);

const webSocket = defineWebSocketHandler({ schema, auth: "none" })((params) => {
  if (params.eventType === "MESSAGE") return { statusCode: 200, body: JSON.stringify(params.body) };
});
const headers = fc.dictionary(
  fc.oneof(fc.constantFrom("Accept", "X-Correlation-Id", "traceparent"), text),
  text,
  {
    maxKeys: 4,
  },
);

property(
  "defineWebSocketHandler() answers every client with a status below 500",
  fc.asyncProperty(
    message,
    headers,
    fc.dictionary(text, text, { maxKeys: 3 }),
    async (body, sent, query) => {
      for (
        const event of [
          createWebSocketConnectEvent({ headers: sent, query }),
          createWebSocketMessageEvent({ body }),
          createWebSocketDisconnectEvent({}),
        ]
      ) {
        const answer = await attempt(webSocket, event);
        assert(!(answer instanceof Error), String(answer));
        const isRefused = event.body !== undefined && typeof body === "string";
        assertEquals(answer.statusCode, isRefused ? 400 : 200);
        assert(answer.body === undefined || typeof answer.body === "string");
        assert(
          !Object.values(answer.headers ?? {}).some((value) => /[\0\r\n]/.test(String(value))),
        );
      }
    },
  ),
);

const TOKEN = "t0ken";
const authorizer = defineAuthorizerHandler({ anonymous: "deny", unauthenticated: "deny" })((
  { token },
) =>
  token === TOKEN
    ? { userStatus: "Authenticated", userId: "u1" }
    : { userStatus: token === undefined ? "Anonymous" : "Unauthenticated" }
);
const authorization = fc.oneof(
  text,
  fc.constantFrom("", " ", "\n").chain((tail) =>
    fc.constantFrom(`Bearer ${TOKEN}`, `bearer ${TOKEN}`, TOKEN).map((all) => all + tail)
  ),
);

property(
  "defineAuthorizerHandler() lets in the one token, whatever the kind of gateway",
  fc.asyncProperty(authorization, async (header) => {
    // a header of another form than Bearer is handed over as it is
    const isGood = /^[Bb]earer +t0ken$/.test(header) || header.trim() === TOKEN;
    for (
      const event of [
        createTokenAuthorizerEvent(header),
        createRequestAuthorizerEvent({ headers: { Authorization: header } }),
        createHttpAuthorizerEvent({ headers: { Authorization: header } }),
      ]
    ) assertEquals(isAllowed(await attempt(authorizer, event)), isGood, event.type);
  }),
);

function isAllowed(outcome: unknown): boolean {
  if (outcome instanceof Error) {
    assertEquals(outcome.message, "Unauthorized");
    return false;
  }
  const { isAuthorized, policyDocument } = outcome as {
    isAuthorized?: boolean;
    policyDocument?: { Statement: { Effect: string }[] };
  };
  return isAuthorized ?? policyDocument!.Statement.every(({ Effect }) => Effect === "Allow");
}

const OTHERS = [
  [topic, fc.array(fc.record({ message, correlationId }), { maxLength: 3 }).map(createTopicEvent)],
  [
    storage,
    fc.oneof(
      fc.array(change, { maxLength: 3 }).map(createStorageEvent),
      change.map(createStorageEventBridgeEvent),
      fc.constant(createStorageTestEvent()),
    ),
  ],
  [
    defineEventHandler({ schema })(({ detail }) => work(detail)),
    good.map((detail) => createEventBridgeEvent({ detail })),
  ],
  [
    defineScheduleHandler()(() => {}),
    fc.constantFrom("module" as const, "scheduler" as const, "rule" as const).map((from) =>
      createScheduleEvent({ from })
    ),
  ],
  [
    webSocket,
    fc.oneof(
      headers.map((sent) => createWebSocketConnectEvent({ headers: sent })),
      message.map((body) => createWebSocketMessageEvent({ body })),
      fc.constant(createWebSocketDisconnectEvent({})),
    ),
  ],
] as const;

property(
  "handlers of the other triggers bear events that no service sends: an answer or a rejection with an error",
  fc.asyncProperty(
    fc.oneof(
      ...OTHERS.map(([handler, event]) =>
        mangled(event as fc.Arbitrary<unknown>).map((odd) => [handler, odd] as const)
      ),
    ),
    async ([handler, event]) => {
      await attempt<unknown>(handler, event);
    },
  ),
);

property(
  "defineAuthorizerHandler() lets nobody in for an event that no gateway sends",
  fc.asyncProperty(
    mangled(
      fc.tuple(
        fc.constantFrom(
          createRequestAuthorizerEvent,
          createHttpAuthorizerEvent,
          ({ headers }: { headers: { Authorization: string } }) =>
            createTokenAuthorizerEvent(headers.Authorization),
        ),
        text,
      ).map(([make, header]) => make({ headers: { Authorization: `Bearer no ${header}` } })),
    ),
    async (event) => assertEquals(isAllowed(await attempt(authorizer, event)), false),
  ),
);
