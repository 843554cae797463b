import { getPreflightResponder } from "../../../core/http/preflight.ts";
import type { ProxyResult, RestApiEvent } from "../../../core/http/lambda.ts";

/**
 * Answers a preflight request for a function, without calling its handler.
 *
 * @param handler The handler of the requested method.
 * @returns The response; `undefined` if the function does not answer preflights, or allows no other
 * origins.
 */
export async function answerPreflight(
  handler: object,
  event: RestApiEvent,
): Promise<ProxyResult | undefined> {
  return await getPreflightResponder(handler)?.(event);
}

/** Returns the method that a preflight request asks for. */
export function getRequestedMethod(
  { method, headers }: {
    readonly method?: string;
    readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  },
): string | undefined {
  const requested = headers["access-control-request-method"];
  return method === "OPTIONS" && typeof requested === "string" ? requested : undefined;
}
