import type { AuthRoute, SchemaIssue } from "./auth_routes.ts";

/** A parsed body. */
export interface AuthBody {
  readonly value: unknown;
}

/**
 * Reads the body of a request as better-auth does. The request can be read again.
 *
 * @param request The request.
 * @returns The body; `undefined` if it is malformed or of another type, which better-auth refuses.
 */
export async function readAuthBody(request: Request): Promise<AuthBody | undefined> {
  if (request.body === null) return { value: undefined };
  const type = request.headers.get("content-type") ?? "";
  try {
    if (/^application\/([a-z0-9.+-]*\+)?json/i.test(type)) {
      return { value: await request.clone().json() };
    }
    if (!/application\/x-www-form-urlencoded|multipart\/form-data/i.test(type)) return undefined;
    return { value: Object.fromEntries(await request.clone().formData()) };
  } catch {
    return undefined;
  }
}

/**
 * Validates a body that is not a JSON object. Hooks of plugins read properties of the body before
 * better-auth validates it, and would fail with an unexpected error.
 *
 * @param body The parsed body.
 * @param route The route of the request.
 * @returns better-auth's response to an invalid body; `undefined` if the body is an object or valid.
 */
export async function refuseBody(
  { value }: AuthBody,
  route: AuthRoute | undefined,
): Promise<Response | undefined> {
  if (route?.body === undefined) return undefined;
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return undefined;
  const { issues } = await route.body["~standard"].validate(value);
  if (issues === undefined) return undefined;
  return Response.json({ message: getMessage(issues), code: "VALIDATION_ERROR" }, { status: 400 });
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
