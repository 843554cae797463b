import { ERROR_CODES } from "../../errors/error_code.ts";
import type { JsonSchema } from "./json_schema.ts";
import type { Components } from "./components.ts";

const ERROR_FIELDS = {
  message: { type: "string", description: "What happened, in words that may be shown" },
  // open, so that a client which is older than a code can read it
  code: {
    type: "string",
    "x-extensible-enum": Object.keys(ERROR_CODES),
    description: "What to switch on. Later versions can add codes",
  },
  requestId: { type: "string", description: "The id of the invocation, for support" },
  correlationId: { type: "string", description: "The id that the log lines have too" },
} as const;

const ERROR: JsonSchema = {
  description: "The body of every error",
  type: "object",
  properties: {
    ...ERROR_FIELDS,
    errors: {
      type: "object",
      additionalProperties: { type: "array", items: { type: "string" } },
      description:
        "Messages by field, as dotted paths such as items.0.sku; _form is the whole input",
    },
  },
  required: Object.keys(ERROR_FIELDS),
};

const TEXT_HEADER = { schema: { type: "string" } } as const;

const RATE_LIMIT_HEADERS = {
  "Retry-After": {
    description: "Seconds until the client may retry",
    schema: { type: "integer", minimum: 1 },
  },
  "RateLimit-Policy": {
    description: "The limit: requests (q) in a window of seconds (w)",
    ...TEXT_HEADER,
  },
  "RateLimit": {
    description: "Remaining requests (r), and seconds until the window ends (t)",
    ...TEXT_HEADER,
  },
} as const;

/** RFC 9110 section 15. */
const TITLES: Readonly<Record<number, string>> = {
  200: "OK",
  201: "Created",
  202: "Accepted",
  203: "Non-Authoritative Information",
  204: "No Content",
  205: "Reset Content",
  206: "Partial Content",
  301: "Moved Permanently",
  302: "Found",
  303: "See Other",
  304: "Not Modified",
  307: "Temporary Redirect",
  308: "Permanent Redirect",
  ...Object.fromEntries(Object.values(ERROR_CODES).map(({ status, title }) => [status, title])),
};

/** Returns the description of a status that has no other description. */
export function getTitle(status: number): string {
  return TITLES[status] ?? (status < 400 ? "The answer" : "An error");
}

/** Returns the name of the shared answer of a status: `NotFound`, `Status418`. */
export function getAnswerName(status: number): string {
  return TITLES[status]?.replace(/\W+/g, "") ?? `Status${status}`;
}

/** The answers of a document that many operations share. */
export class SharedAnswers {
  /** Answers by name. */
  readonly responses: Record<string, unknown> = {};
  readonly #components: Components;

  /**
   * @param components Takes the schemas of the errors.
   */
  constructor(components: Components) {
    this.#components = components;
  }

  /**
   * An answer of an error.
   *
   * @param status The status, 400 or more.
   * @param description What it means for this operation; a shared answer without it.
   * @param hasOwnBody True if the operation replaces the bodies of errors; their schema is open.
   */
  getError(status: number, description?: string, hasOwnBody = false): Record<string, unknown> {
    const title = getTitle(status);
    const headers = status === 429 ? { headers: RATE_LIMIT_HEADERS } : undefined;
    if (hasOwnBody) {
      const content = { "application/json": { schema: {} } };
      return { description: description ?? title, ...headers, content };
    }
    const content = {
      "application/json": {
        schema: this.#components.own("ApiError", ERROR),
      },
    };
    if (description !== undefined) return { description, ...headers, content };
    const name = getAnswerName(status);
    this.responses[name] ??= { description: title, ...headers, content };
    return { $ref: `#/components/responses/${name}` };
  }
}
