// deno-lint-ignore-file no-console
/**
 * Writes `docs/reference/errors.md` from the list of codes and the classes.
 *
 *   deno run -A scripts/error_reference.ts [--check]
 */
import * as errors from "../errors/mod.ts";

const FILE = new URL("../docs/reference/errors.md", import.meta.url);

const classes: Record<string, string[]> = {};
const samples: Record<string, () => errors.AppError> = {
  ValidationError: () => new errors.ValidationError(),
  UnauthorizedError: () => new errors.UnauthorizedError(),
  ForbiddenError: () => new errors.ForbiddenError(),
  NotFoundError: () => new errors.NotFoundError(),
  MethodNotAllowedError: () => new errors.MethodNotAllowedError(["GET"]),
  ConflictError: () => new errors.ConflictError(),
  UniqueViolationError: () => new errors.UniqueViolationError(),
  ForeignKeyViolationError: () => new errors.ForeignKeyViolationError(),
  PayloadTooLargeError: () => new errors.PayloadTooLargeError(),
  UnsupportedMediaTypeError: () => new errors.UnsupportedMediaTypeError(),
  TooManyRequestsError: () => new errors.TooManyRequestsError(),
  UnexpectedError: () => new errors.UnexpectedError(),
  ConfigurationError: () => new errors.ConfigurationError("…"),
  DatabaseError: () => new errors.DatabaseError(),
  CommitOutcomeUnknownError: () => new errors.CommitOutcomeUnknownError(),
  ServiceUnavailableError: () => new errors.ServiceUnavailableError(),
  DeadlineExceededError: () => new errors.DeadlineExceededError(),
};
for (const [name, make] of Object.entries(samples)) (classes[make().code] ??= []).push(name);

const WHEN: Record<errors.ErrorCode, string> = {
  VALIDATION_FAILED:
    "Path, query or body do not fit their schemas, or a query maps the constraint that they violate. The body has `errors`, messages by field.",
  UNAUTHORIZED: "No credential, or one that is not good. `WWW-Authenticate: Bearer` is set.",
  FORBIDDEN: "The caller is known and may not do this.",
  NOT_FOUND: "There is no such thing.",
  METHOD_NOT_ALLOWED: "The resource does not know the method. `Allow` lists those it knows.",
  CONFLICT: "The request does not fit the present state.",
  UNIQUE_VIOLATION:
    "A row with the same values exists already. The body has `errors` when the query maps the constraint to a field.",
  FOREIGN_KEY_VIOLATION:
    "A row that is referred to does not exist, or one that is still referred to was to be deleted. The body has `errors` when the query maps the constraint.",
  PAYLOAD_TOO_LARGE: "The body is larger than `maxBodyBytes`.",
  UNSUPPORTED_MEDIA_TYPE: "The body is neither JSON nor a form, or not in UTF-8.",
  TOO_MANY_REQUESTS: "The caller asks too often. `Retry-After` is set.",
  UNEXPECTED: "Anything else that was thrown.",
  CONFIGURATION: "A setting is missing or wrong; the log names it and the fix.",
  DATABASE: "A query failed after its retries; the log has its name and the SQLSTATE.",
  COMMIT_OUTCOME_UNKNOWN:
    "The connection was lost during COMMIT: the work may or may not have been applied.",
  TRANSACTION_MISUSE:
    "A transaction's client was used after its end, or a query waits for the transaction around it; the log names both.",
  MIGRATION:
    "A migration (`MigrationError`) or a table recreation (`RecreationError`) cannot be read, planned or applied.",
  UNSUPPORTED_STATEMENT:
    "The distributed provider refuses a statement and nothing equal can be sent.",
  RECREATION_REQUIRED: "A change needs the table to be made again.",
  SERVICE_UNAVAILABLE:
    "Something that the request needs is down or has no room, such as a database that refuses connections. `Retry-After` may be set.",
  DEADLINE_EXCEEDED: "The function's time was nearly up, so it answered.",
};

const rows = Object.entries(errors.ERROR_CODES).map(([code, { status, title }]) =>
  `| \`${code}\` | ${status} ${title} | ${
    (classes[code] ?? []).map((name) => `\`${name}\``).join(", ") || "–"
  } | ${WHEN[code as errors.ErrorCode]} |`
);

const text = `<!-- made by scripts/error_reference.ts -->
# Error reference

Every error response has this body; \`errors\` with status 400, and with 409 when a query maps the violated constraint to a field:

\`\`\`json
{
  "message": "Validation failed",
  "code": "VALIDATION_FAILED",
  "requestId": "8f2c…",
  "correlationId": "c-42",
  "errors": { "address.zip": ["Too small: expected string to have >=5 characters"] }
}
\`\`\`

With \`Accept: application/problem+json\` it is an RFC 9457 problem: \`type\`, \`title\`, \`status\`, \`detail\`, and the same \`code\`, \`requestId\`,
\`correlationId\`, \`errors\`. From status 500 on \`message\` is the status' phrase.

| code | status | class | when |
| --- | --- | --- | --- |
${rows.join("\n")}

The classes are exported by \`@trellis/fn/errors\`. See the [guide](../guides/errors.md).
`;

if (Deno.args.includes("--check")) {
  if (await Deno.readTextFile(FILE).catch(() => "") !== text) {
    console.error("docs/reference/errors.md is stale: run deno run -A scripts/error_reference.ts");
    Deno.exit(1);
  }
} else await Deno.writeTextFile(FILE, text);
