import { DatabaseError } from "../../errors/database_errors.ts";
import { logInfo } from "../../observability/logger.ts";

type Handler = (request: Request) => Promise<Response>;

/** Routes that write an address for which better-auth has looked before, and the method of each. */
export const CONFIRMING_ROUTES: Readonly<Record<string, string>> = {
  "/verify-email": "GET",
  "/change-email": "POST",
  "/email-otp/change-email": "POST",
};

const UNIQUE_VIOLATION = "23505";

/** better-auth's code for an address of another account. */
const CODE = "USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL";

/**
 * Answers the confirmation of an address that another account has taken in the meantime: with a
 * redirect to the page of the link and its parameter `error`, as better-auth answers an expired
 * link, or with 422. better-auth does not expect the violated constraint and would answer with 500.
 *
 * @param handler better-auth's routes.
 * @param basePath Path below which the routes are.
 */
export function withTakenAddresses(handler: Handler, basePath: string): Handler {
  return async function serveConfirmation(request): Promise<Response> {
    try {
      return await handler(request);
    } catch (error) {
      const { pathname, searchParams } = new URL(request.url);
      const path = pathname.slice(basePath.length).replace(/\/$/, "");
      const isConfirming = Object.hasOwn(CONFIRMING_ROUTES, path) &&
        CONFIRMING_ROUTES[path] === request.method;
      if (!isConfirming || !isTaken(error)) throw error;
      logInfo("An address was confirmed that another account has");
      // better-auth has checked that it trusts the page
      const page = path === "/verify-email" ? searchParams.get("callbackURL") : null;
      if (!page) {
        const message = "User already exists. Use another email.";
        return Response.json({ message, code: CODE }, { status: 422 });
      }
      return new Response(null, { status: 302, headers: { location: addError(page) } });
    }
  };
}

/** Checks for a violated unique constraint in a statement of better-auth. */
function isTaken(error: unknown): boolean {
  return error instanceof DatabaseError && error.sqlState === UNIQUE_VIOLATION;
}

function addError(page: string): string {
  const [address, ...fragment] = page.split("#");
  const separator = address.includes("?") ? "&" : "?";
  return [`${address}${separator}error=${CODE}`, ...fragment].join("#");
}
