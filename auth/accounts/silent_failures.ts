import { isAppError } from "../../errors/app_error.ts";
import { logError } from "../../observability/logger.ts";

type Handler = (request: Request) => Promise<Response>;

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
 *
 * @param handler better-auth's routes.
 * @param basePath Path below which the routes are.
 */
export function withSilentFailures(handler: Handler, basePath: string): Handler {
  return async function serveSilently(request): Promise<Response> {
    try {
      return await handler(request);
    } catch (error) {
      const path = new URL(request.url).pathname.slice(basePath.length).replace(/\/$/, "");
      const answer = Object.hasOwn(SILENT_ANSWERS, path) ? SILENT_ANSWERS[path] : undefined;
      // errors of the database and of limits do not depend on the address
      if (request.method !== "POST" || answer === undefined || isAppError(error)) throw error;
      logError("A mail of the auth routes could not be sent", { error });
      return Response.json(answer);
    }
  };
}
