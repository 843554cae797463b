import { misfit } from "../core/triggers/parse_input.ts";

/** What became of a mail. `other` are kinds such as opens and clicks. */
export type MailEventType =
  | "bounce"
  | "complaint"
  | "delivery"
  | "delivery-delay"
  | "reject"
  | "send"
  | "other";

/** Recipient that an event is about. */
export interface MailEventRecipient {
  /** The address. */
  readonly address: string;
  /** Enhanced status code (RFC 3463) of a bounce, if the server sent one. */
  readonly status?: string;
  /** Answer of the server, if it sent one. It comes from outside: do not show it to other users. */
  readonly diagnostic?: string;
}

/** Event that Amazon SES reports for a mail. */
export interface MailEvent {
  /** What happened. */
  readonly type: MailEventType;
  /** True for a bounce that will repeat: do not write to the address again. */
  readonly isPermanent: boolean;
  /** Recipients that it is about. */
  readonly recipients: readonly MailEventRecipient[];
  /** Id that SES gave the mail. */
  readonly messageId: string;
  /** Id that `send` returned; `undefined` for a mail that was sent by other means. */
  readonly mailId: string | undefined;
  /** Name of the mail, with underscores in place of dots. */
  readonly mailName: string | undefined;
  /** Time of the event. */
  readonly at: Date;
}

type Json = Readonly<Record<string, unknown>>;

const TYPES: Readonly<Record<string, MailEventType>> = {
  Bounce: "bounce",
  Complaint: "complaint",
  Delivery: "delivery",
  DeliveryDelay: "delivery-delay",
  Reject: "reject",
  Send: "send",
};

/**
 * Parses a message of SES: an event of a configuration set, or a notification of an identity.
 *
 * @param value The parsed JSON.
 * @returns The event.
 * @throws {ValidationError} If it is neither.
 */
export function parseMailEvent(value: unknown): MailEvent {
  const event = asObject(value);
  const kind = event.eventType ?? event.notificationType;
  const mail = asObject(event.mail);
  if (typeof kind !== "string" || typeof mail.messageId !== "string") {
    throw misfit("It is no event of Amazon SES");
  }
  const type = TYPES[kind.replaceAll(" ", "")] ?? "other";
  const details = asObject(event[getDetailsName(kind)]);
  const tags = asObject(mail.tags);
  return {
    type,
    isPermanent: type === "bounce" && details.bounceType === "Permanent",
    recipients: readRecipients(type, details, mail),
    messageId: mail.messageId,
    mailId: readTag(tags, "mail-id"),
    mailName: readTag(tags, "mail"),
    at: readTime(details.timestamp ?? mail.timestamp),
  };
}

/** Name of the member with the details: `bounce` for `Bounce`, `deliveryDelay` for `DeliveryDelay`. */
function getDetailsName(kind: string): string {
  const name = kind.replaceAll(" ", "");
  return name.charAt(0).toLowerCase() + name.slice(1);
}

/** Members with the recipients of an event, by its type. */
const LISTS: Readonly<Partial<Record<MailEventType, string>>> = {
  bounce: "bouncedRecipients",
  complaint: "complainedRecipients",
  "delivery-delay": "delayedRecipients",
  delivery: "recipients",
};

function readRecipients(type: MailEventType, details: Json, mail: Json): MailEventRecipient[] {
  const name = LISTS[type];
  const listed = name === undefined ? undefined : details[name];
  const found = Array.isArray(listed) ? listed : mail.destination;
  if (!Array.isArray(found)) return [];
  return found.flatMap((one) => {
    if (typeof one === "string") return [{ address: one }];
    const { emailAddress, status, diagnosticCode } = asObject(one);
    if (typeof emailAddress !== "string") return [];
    return [{
      address: emailAddress,
      ...(typeof status === "string" && { status }),
      ...(typeof diagnosticCode === "string" && { diagnostic: diagnosticCode }),
    }];
  });
}

function readTag(tags: Json, name: string): string | undefined {
  const value = tags[name];
  return Array.isArray(value) && typeof value[0] === "string" ? value[0] : undefined;
}

function readTime(value: unknown): Date {
  const time = new Date(String(value));
  return Number.isNaN(time.getTime()) ? new Date(0) : time;
}

function asObject(value: unknown): Json {
  return typeof value === "object" && value !== null ? value as Json : {};
}
