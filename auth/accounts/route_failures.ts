import { isAppError } from "../../errors/app_error.ts";
import { DatabaseError } from "../../errors/database_errors.ts";
import { logError, logInfo } from "../../observability/logger.ts";

type Handler = (request: Request) => Promise<Response>;

/** A request that failed. */
interface Failure {
  readonly error: unknown;
  readonly method: string;
  /** Path after the base path. */
  readonly path: string;
  readonly query: URLSearchParams;
}

/**
 * Answers failures with their own status that better-auth would answer with 500.
 *
 * @param handler better-auth's routes.
 * @param basePath Path below which the routes are.
 */
export function withRouteFailures(handler: Handler, basePath: string): Handler {
  return async function answerFailures(request): Promise<Response> {
    try {
      return await handler(request);
    } catch (error) {
      const { pathname, searchParams: query } = new URL(request.url);
      const path = pathname.slice(basePath.length).replace(/\/$/, "");
      const failure = { error, method: request.method, path, query };
      const answer = answerTakenAddress(failure) ?? answerSilently(failure);
      if (answer === undefined) throw error;
      return answer;
    }
  };
}

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
 * link, or with 422. better-auth does not expect the violated constraint.
 */
function answerTakenAddress({ error, method, path, query }: Failure): Response | undefined {
  const isConfirming = Object.hasOwn(CONFIRMING_ROUTES, path) && CONFIRMING_ROUTES[path] === method;
  const isTaken = error instanceof DatabaseError && error.sqlState === UNIQUE_VIOLATION;
  if (!isConfirming || !isTaken) return undefined;
  logInfo("An address was confirmed that another account has");
  // better-auth has checked that it trusts the page
  const page = path === "/verify-email" ? query.get("callbackURL") : null;
  if (!page) {
    const message = "User already exists. Use another email.";
    return Response.json({ message, code: CODE }, { status: 422 });
  }
  return new Response(null, { status: 302, headers: { location: addError(page) } });
}

function addError(page: string): string {
  const [address, ...fragment] = page.split("#");
  const separator = address.includes("?") ? "&" : "?";
  return [`${address}${separator}error=${CODE}`, ...fragment].join("#");
}

/**
 * Routes of plugins that call a function of the application only for some addresses, with the answer
 * for the others.
 */
const SILENT_ANSWERS: Readonly<Record<string, Readonly<Record<string, true>>>> = {
  "/email-otp/send-verification-otp": { success: true },
  "/email-otp/request-password-reset": { success: true },
  "/email-otp/request-email-change": { success: true },
  "/forget-password/email-otp": { success: true },
  "/phone-number/request-password-reset": { status: true },
};

/**
 * Answers a request whose mail function failed as a request for an unknown address, and logs the
 * error. Otherwise a function of a plugin that throws would be answered with 500 for addresses with
 * an account only. better-auth catches rejected promises itself.
 */
function answerSilently({ error, method, path }: Failure): Response | undefined {
  const answer = Object.hasOwn(SILENT_ANSWERS, path) ? SILENT_ANSWERS[path] : undefined;
  // errors of the database and of limits do not depend on the address
  if (method !== "POST" || answer === undefined || isAppError(error)) return undefined;
  logError("A mail of the auth routes could not be sent", { error });
  return Response.json(answer);
}
