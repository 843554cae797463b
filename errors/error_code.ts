/** The HTTP response of an {@link ErrorCode}. */
export interface ErrorCodeEntry {
  /** HTTP status, RFC 9110 section 15. */
  readonly status: number;
  /** The reason phrase of the status, sent if the message is not shown. */
  readonly title: string;
}

const FORBIDDEN = { status: 403, title: "Forbidden" } as const;
const CONFLICT = { status: 409, title: "Conflict" } as const;
const INTERNAL = { status: 500, title: "Internal Server Error" } as const;

/**
 * The closed list of error codes: callers switch on the code, never on the text of a message.
 * An entry with a status of 500 or above never shows its message to a client.
 */
export const ERROR_CODES = {
  VALIDATION_FAILED: { status: 400, title: "Bad Request" },
  UNAUTHORIZED: { status: 401, title: "Unauthorized" },
  FORBIDDEN: FORBIDDEN,
  SESSION_NOT_FRESH: FORBIDDEN,
  SECOND_FACTOR_REQUIRED: FORBIDDEN,
  NOT_FOUND: { status: 404, title: "Not Found" },
  METHOD_NOT_ALLOWED: { status: 405, title: "Method Not Allowed" },
  CONFLICT: CONFLICT,
  UNIQUE_VIOLATION: CONFLICT,
  FOREIGN_KEY_VIOLATION: CONFLICT,
  PRECONDITION_FAILED: { status: 412, title: "Precondition Failed" },
  PAYLOAD_TOO_LARGE: { status: 413, title: "Content Too Large" },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, title: "Unsupported Media Type" },
  UNPROCESSABLE_CONTENT: { status: 422, title: "Unprocessable Content" },
  TOO_MANY_REQUESTS: { status: 429, title: "Too Many Requests" },
  UNEXPECTED: INTERNAL,
  CONFIGURATION: INTERNAL,
  DATABASE: INTERNAL,
  COMMIT_OUTCOME_UNKNOWN: INTERNAL,
  TRANSACTION_MISUSE: INTERNAL,
  MIGRATION: INTERNAL,
  UNSUPPORTED_STATEMENT: INTERNAL,
  RECREATION_REQUIRED: INTERNAL,
  SERVICE_UNAVAILABLE: { status: 503, title: "Service Unavailable" },
  DEADLINE_EXCEEDED: { status: 504, title: "Gateway Timeout" },
} as const satisfies Record<string, ErrorCodeEntry>;

/** A code of {@link ERROR_CODES}. */
export type ErrorCode = keyof typeof ERROR_CODES;
