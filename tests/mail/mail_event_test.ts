import { assertEquals, assertRejects } from "@std/assert";
import { ConfigurationError } from "../../errors/mod.ts";
import { defineMailEventHandler, type MailEvent } from "../../mail/mod.ts";
import {
  createEventBridgeEvent,
  createLambdaContext,
  createTopicEvent,
} from "../../testing/mod.ts";

const QUIET = { logging: { level: "SILENT" }, metrics: false } as const;

const MAIL = {
  messageId: "ses-1",
  timestamp: "2026-11-22T10:00:00.000Z",
  destination: ["ada@example.com"],
  tags: { mail: ["account_welcome"], "mail-id": ["j-1"], "ses:operation": ["SendEmail"] },
};
const BOUNCE = {
  bounceType: "Permanent",
  timestamp: "2026-11-22T10:00:05.000Z",
  bouncedRecipients: [{
    emailAddress: "ada@example.com",
    status: "5.1.1",
    diagnosticCode: "smtp; 550 5.1.1 user unknown",
  }],
};

async function read(value: unknown, wrap: "topic" | "event"): Promise<MailEvent[]> {
  const events: MailEvent[] = [];
  const handler = defineMailEventHandler(QUIET)(({ event }) => void events.push(event));
  const event = wrap === "topic"
    ? createTopicEvent([{ message: value }, { message: value }])
    : createEventBridgeEvent({ source: "aws.ses", detailType: "Email Bounced", detail: value });
  await handler(event, createLambdaContext());
  return events;
}

Deno.test("defineMailEventHandler() reads events and notifications from topics and rules", async () => {
  const expected = {
    type: "bounce",
    isPermanent: true,
    recipients: [{
      address: "ada@example.com",
      status: "5.1.1",
      diagnostic: "smtp; 550 5.1.1 user unknown",
    }],
    messageId: "ses-1",
    mailId: "j-1",
    mailName: "account_welcome",
    at: new Date("2026-11-22T10:00:05.000Z"),
  };
  const event = { eventType: "Bounce", mail: MAIL, bounce: BOUNCE };
  assertEquals(await read(event, "topic"), [expected, expected] as MailEvent[]);
  assertEquals(await read(event, "event"), [expected] as MailEvent[]);
  const { tags: _, ...mail } = MAIL;
  const notification = { notificationType: "Bounce", mail, bounce: BOUNCE };
  assertEquals(await read(notification, "event"), [
    { ...expected, mailId: undefined, mailName: undefined },
  ] as MailEvent[]);
});

Deno.test("defineMailEventHandler() tells what happened to which recipients", async () => {
  const cases: [Record<string, unknown>, string, boolean, string[]][] = [
    [{ bounce: { ...BOUNCE, bounceType: "Transient" } }, "Bounce", false, ["ada@example.com"]],
    [
      { complaint: { complainedRecipients: [{ emailAddress: "bob@example.com" }] } },
      "Complaint",
      false,
      ["bob@example.com"],
    ],
    [{ delivery: { recipients: ["ada@example.com"] } }, "Delivery", false, ["ada@example.com"]],
    [
      { deliveryDelay: { delayedRecipients: [{ emailAddress: "c@example.com" }] } },
      "DeliveryDelay",
      false,
      ["c@example.com"],
    ],
    [{ open: {} }, "Open", false, ["ada@example.com"]],
  ];
  const types = [];
  for (const [details, eventType, isPermanent, addresses] of cases) {
    const [event] = await read({ eventType, mail: MAIL, ...details }, "event");
    types.push(event.type);
    assertEquals([event.isPermanent, event.recipients.map(({ address }) => address)], [
      isPermanent,
      addresses,
    ]);
  }
  assertEquals(types, ["bounce", "complaint", "delivery", "delivery-delay", "other"]);
});

Deno.test("defineMailEventHandler() fails for messages that are none of SES", async () => {
  for (const value of [{}, { eventType: "Bounce" }, "text", null]) {
    await assertRejects(() => read(value, "event"));
  }
  await assertRejects(async () => {
    await defineMailEventHandler(QUIET)(() => {})({} as never, createLambdaContext());
  });
});

Deno.test("defineMailEventHandler() refuses unknown options", () => {
  try {
    defineMailEventHandler({ schema: 1 } as never);
  } catch (error) {
    assertEquals(error instanceof ConfigurationError, true);
    return;
  }
  throw new Error("accepted");
});
