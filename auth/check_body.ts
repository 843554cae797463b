import type { AuthRoute, SchemaIssue } from "./auth_routes.ts";

/**
 * Validates a body that is not a JSON object. Hooks of plugins read properties of the body before
 * better-auth validates it, and would fail with an unexpected error.
 *
 * @param request The request. Its body is not consumed.
 * @param route The route of the request.
 * @returns better-auth's response to an invalid body; `undefined` if the body is an object or valid.
 */
export async function refuseBody(
  request: Request,
  route: AuthRoute | undefined,
): Promise<Response | undefined> {
  if (route?.body === undefined) return undefined;
  const body = await readSimpleBody(request);
  if (body === undefined) return undefined;
  const { issues } = await route.body["~standard"].validate(body.value);
  if (issues === undefined) return undefined;
  return Response.json({ message: getMessage(issues), code: "VALIDATION_ERROR" }, { status: 400 });
}

/** Returns a missing body, or a JSON value that is no object. Invalid JSON is left to better-auth. */
async function readSimpleBody(request: Request): Promise<{ value: unknown } | undefined> {
  if (request.body === null) return { value: undefined };
  if (!/^application\/([a-z0-9.+-]*\+)?json/i.test(request.headers.get("content-type") ?? "")) {
    return undefined;
  }
  try {
    const value: unknown = await request.clone().json();
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? undefined
      : { value };
  } catch {
    return undefined;
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
