import { decodeBase64 } from "../../core/http/base64.ts";
import { parseJson } from "../../core/http/parse_json.ts";
import { isAppError } from "../../errors/app_error.ts";
import { DatabaseError } from "../../errors/database_errors.ts";
import { ValidationError } from "../../errors/http_errors.ts";
import { logWarn } from "../../observability/logger.ts";
import { hasMoreThan, MAX_FIELDS } from "../../validation/read_body.ts";
import type { BetterAuthContext } from "../accounts/better_auth.ts";
import type { AuthRoute, SchemaIssue } from "../better_auth/auth_routes.ts";

/** A parsed body. */
export interface AuthBody {
  readonly value: unknown;
}

/**
 * Reads the body of a request as better-auth does. The request can be read again.
 *
 * @param request The request.
 * @returns The body; `undefined` if it is of another type or a malformed form, which better-auth refuses.
 * @throws {ValidationError} If it is malformed JSON, nested too deep, has too many fields, or could change a prototype.
 */
export async function readAuthBody(request: Request): Promise<AuthBody | undefined> {
  if (request.body === null) return { value: undefined };
  const type = request.headers.get("content-type") ?? "";
  if (/^application\/([a-z0-9.+-]*\+)?json/i.test(type)) {
    const result = parseJson(await request.clone().text());
    if ("error" in result) throw new ValidationError(`The body ${result.error}`);
    return result;
  }
  try {
    if (!/application\/x-www-form-urlencoded|multipart\/form-data/i.test(type)) return undefined;
    // of a form with fields, and of one with parts
    const text = await request.clone().text();
    if (["&", "\n--"].some((separator) => hasMoreThan(text, separator, MAX_FIELDS))) {
      throw new ValidationError(`The body has more than ${MAX_FIELDS} fields`);
    }
    return { value: Object.fromEntries(await request.clone().formData()) };
  } catch (error) {
    if (isAppError(error)) throw error;
    return undefined;
  }
}

/** What is known of a request before better-auth reads it. */
export interface AuthInput {
  readonly request: Request;
  /** The path after the base path. */
  readonly path: string;
  /** The parsed body; `undefined` if better-auth refuses it. */
  readonly body: AuthBody | undefined;
  /** The route of the request. */
  readonly route: AuthRoute | undefined;
}

/** Routes that write the fields of a user, including those that plugins add. */
const USER_ROUTES: readonly string[] = [
  "/sign-up/email",
  "/update-user",
  "/admin/create-user",
  "/admin/update-user",
];

/**
 * Validates what hooks of plugins read before better-auth validates the body, and would fail with an
 * unexpected error: a body that is no object, and fields of users that are no texts. Refuses NUL,
 * which PostgreSQL does not take in texts.
 *
 * @param input The request.
 * @param userFields The fields of users.
 * @returns The response to an invalid request; `undefined` if it is valid.
 */
export async function refuseInput(
  { request, path, body, route }: AuthInput,
  userFields: Readonly<Record<string, { readonly type: unknown }>>,
): Promise<Response | undefined> {
  if (/%00/.test(request.url)) return refuse("[path] must not have NUL");
  if (body === undefined) return undefined;
  const { value } = body;
  if (!isObject(value)) return await refuseBySchema(body, route);
  if (/(?<!\\)(?:\\\\)*\\u0000/.test(JSON.stringify(value))) {
    return refuse("[body] must not have NUL");
  }
  if (!USER_ROUTES.includes(path)) return undefined;
  const wrong = [value, value.data].filter(isObject).flatMap((fields) =>
    Object.keys(fields).filter((name) =>
      Object.hasOwn(userFields, name) && userFields[name].type === "string" &&
      !isTextField(name, fields[name])
    )
  );
  return wrong.length === 0 ? undefined : refuse(`[body.${wrong[0]}] must be a text`);
}

/** Returns better-auth's response to a body that does not match the schema of the route. */
async function refuseBySchema(
  { value }: AuthBody,
  route: AuthRoute | undefined,
): Promise<Response | undefined> {
  if (route?.body === undefined) return undefined;
  const { issues } = await route.body["~standard"].validate(value);
  return issues === undefined ? undefined : refuse(getMessage(issues));
}

function refuse(message: string): Response {
  return Response.json({ message, code: "VALIDATION_ERROR" }, { status: 400 });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** better-auth takes several roles as a list. */
function isTextField(name: string, value: unknown): boolean {
  const isText = (each: unknown) => typeof each === "string";
  return value === null || isText(value) ||
    name === "role" && Array.isArray(value) && value.every(isText);
}

/** SQLSTATEs of values that a type cannot hold: too long, out of range, malformed. */
const DATA_EXCEPTION = /^22/;
const UNIQUE_VIOLATION = "23505";

/**
 * Returns the response to a request that failed because of its values: the database refused one, or a
 * hook of a plugin could not read the body.
 *
 * @param error The error of the route.
 * @param input The request.
 * @throws The error, if it has another reason.
 */
export async function refuseFailure(error: unknown, input: AuthInput): Promise<Response> {
  const sqlState = error instanceof DatabaseError ? error.sqlState ?? "" : "";
  if (DATA_EXCEPTION.test(sqlState)) {
    logWarn("The database refused a value of a request to the auth routes", { error });
    return refuse("A value of the request cannot be stored or searched");
  }
  if (sqlState === UNIQUE_VIOLATION) {
    const message = "Another record has a value of the request";
    return Response.json({ message, code: "UNIQUE_VIOLATION" }, { status: 409 });
  }
  const refused = isAppError(error) || input.body === undefined
    ? undefined
    : await refuseBySchema(input.body, input.route);
  if (refused === undefined) throw error;
  return refused;
}

/**
 * Replaces better-auth's 500 to a passkey that cannot be registered, which is the client's fault: made on a page of another
 * origin, or malformed. better-auth logs the reason.
 *
 * @param response The response of better-auth. None of the request's statements has failed.
 * @param input The request.
 * @param context better-auth's own context.
 */
export async function toClientError(
  response: Response,
  { path, request, body }: AuthInput,
  { options }: BetterAuthContext,
): Promise<Response> {
  if (response.status !== 500 || path !== "/passkey/verify-registration") return response;
  const answer = await response.clone().json().catch(() => undefined);
  if (answer?.code !== "FAILED_TO_VERIFY_REGISTRATION") return response;
  const plugin = options.plugins?.find(({ id }) => id === "passkey")?.options as PasskeyOptions;
  const expected = [plugin?.origin ?? request.headers.get("origin")].flat();
  if (!expected.includes(readPasskeyOrigin(body?.value))) {
    return Response.json({ message: "Invalid origin", code: "INVALID_ORIGIN" }, { status: 403 });
  }
  // a function of the application may have thrown
  if (plugin?.registration?.afterVerification !== undefined) return response;
  return Response.json(answer, { status: 400 });
}

/** The options of the plugin that are read. */
type PasskeyOptions = {
  readonly origin?: string | readonly string[] | null;
  readonly registration?: { readonly afterVerification?: unknown };
} | undefined;

/** Reads the origin of the page on which a passkey was made (WebAuthn Level 3, section 5.8.1). */
function readPasskeyOrigin(body: unknown): string | null {
  try {
    const { response: { response } } = body as {
      response: { response: { clientDataJSON: string } };
    };
    return JSON.parse(new TextDecoder().decode(decodeBase64(response.clientDataJSON))).origin;
  } catch {
    return null;
  }
}

/** Formats issues as better-call does. */
function getMessage(issues: readonly SchemaIssue[]): string {
  return issues.map(({ message, path = [] }) => {
    const keys = path.map((part) =>
      typeof part === "object" && part !== null ? (part as { key: unknown }).key : part
    );
    return `[${["body", ...keys].join(".")}] ${message}`;
  }).join("; ");
}
