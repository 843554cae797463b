import { parseInput } from "../core/triggers/parse_input.ts";
import { createSchema, type StandardIssue, type StandardSchema } from "../env/standard_schema.ts";
import { isAppError } from "../errors/app_error.ts";
import type { ValidationError } from "../errors/http_errors.ts";
import { formatAddress, hasControl, parseAddress } from "./address.ts";

/** Recipients and options of one mail. */
export interface MailOptions {
  /** Recipient, or recipients who see each other: addresses, or `Name <address>`. */
  to: string | readonly string[];
  /** Recipients of a copy. */
  cc?: string | readonly string[];
  /** Recipients of a copy that the others do not see. */
  bcc?: string | readonly string[];
  /** Addresses of replies. */
  replyTo?: string | readonly string[];
  /** Further headers, such as `List-Unsubscribe`. */
  headers?: Readonly<Record<string, string>>;
}

/** Payload of the job that sends a mail. */
export interface MailPayload<TData = unknown> {
  /** Recipients. */
  readonly to: readonly string[];
  /** Recipients of a copy. */
  readonly cc: readonly string[];
  /** Recipients of a copy that the others do not see. */
  readonly bcc: readonly string[];
  /** Addresses of replies. */
  readonly replyTo: readonly string[];
  /** Further headers. */
  readonly headers: Readonly<Record<string, string>>;
  /** Data of the template. */
  readonly data: TData;
}

/** SES accepts 50 recipients for each mail. */
const MAX_RECIPIENTS = 50;

/** Headers that the mail's own parts set. */
const OWN_HEADERS: ReadonlySet<string> = new Set(
  ("from to cc bcc reply-to subject date message-id mime-version content-type " +
    "content-transfer-encoding sender return-path").split(" "),
);

/**
 * Creates the schema of the job's payload. It checks the addresses and headers, and the data by the mail's own schema.
 *
 * @param schema Schema of the data.
 */
export function createPayloadSchema<TData>(
  schema: StandardSchema<TData>,
): StandardSchema<MailPayload<TData>> {
  return createSchema<MailPayload<TData>>(async (value) => {
    const given = Object(value) as MailOptions & { data: unknown };
    const issues: StandardIssue[] = [];
    const read = (field: "to" | "cc" | "bcc" | "replyTo") =>
      readAddresses(field, given[field], issues);
    const lists = {
      to: read("to"),
      cc: read("cc"),
      bcc: read("bcc"),
      replyTo: read("replyTo"),
    };
    const count = lists.to.length + lists.cc.length + lists.bcc.length;
    if (lists.to.length === 0 && issues.length === 0) {
      issues.push({ message: "A mail needs a recipient", path: ["to"] });
    }
    if (count > MAX_RECIPIENTS) {
      issues.push({ message: `A mail has at most ${MAX_RECIPIENTS} recipients`, path: ["to"] });
    }
    const headers = readHeaders(given.headers, issues);
    const data = await readData(schema, given.data, issues);
    return issues.length > 0 ? { issues } : { value: { ...lists, headers, data: data! } };
  });
}

async function readData<TData>(
  schema: StandardSchema<TData>,
  value: unknown,
  issues: StandardIssue[],
): Promise<TData | undefined> {
  try {
    return await parseInput(schema, value);
  } catch (error) {
    if (!isAppError(error, "VALIDATION_FAILED")) throw error;
    for (const [field, messages] of Object.entries((error as ValidationError).errors)) {
      issues.push(...messages.map((message) => ({ message, path: ["data", field] })));
    }
    return undefined;
  }
}

function readAddresses(
  field: string,
  value: string | readonly string[] | undefined,
  issues: StandardIssue[],
): string[] {
  const given = typeof value === "string" ? [value] : value ?? [];
  if (!Array.isArray(given)) {
    issues.push({ message: "Must be an address or a list of addresses", path: [field] });
    return [];
  }
  return given.flatMap((text) => {
    const address = typeof text === "string" ? parseAddress(text) : undefined;
    if (address !== undefined) return [formatAddress(address)];
    issues.push({ message: "Must be a valid mail address", path: [field] });
    return [];
  });
}

function readHeaders(value: unknown, issues: StandardIssue[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, text] of Object.entries(Object(value ?? {}))) {
    const isValid = /^[A-Za-z0-9-]{1,126}$/.test(name) && !OWN_HEADERS.has(name.toLowerCase()) &&
      typeof text === "string" && text.length <= 870 && !hasControl(text);
    if (isValid) headers[name] = text as string;
    else issues.push({ message: "Is no header that a mail can have", path: ["headers", name] });
  }
  return headers;
}
