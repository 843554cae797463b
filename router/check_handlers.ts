import { ConfigurationError } from "../errors/http_errors.ts";
import { getStreamingHandler } from "../core/http/streaming.ts";
import { OBJECT_OPTION } from "../core/option_rules.ts";
import type { RegisteredOperation } from "../validation/openapi/registry.ts";

/**
 * Checks the handlers of a router.
 *
 * @param handlers Handlers by route.
 * @throws {ConfigurationError} If there is none, one is no function, or one has settings of a Lambda function.
 */
export function checkHandlers(handlers: Readonly<Record<string, unknown>>): void {
  if (!OBJECT_OPTION[0](handlers) || Object.keys(handlers).length === 0) {
    throw new ConfigurationError(
      'defineRouter needs routes: { "GET /notes": defineApiHandler({ … })(…) }',
    );
  }
  for (const [key, handler] of Object.entries(handlers)) {
    if (typeof handler !== "function") {
      throw new ConfigurationError(
        `The route ${key} has no handler: write defineApiHandler({ … })(…)`,
      );
    }
    if (getStreamingHandler(handler) !== undefined) {
      throw new ConfigurationError(
        `The handler of ${key} streams its response, which needs a function of its own: give it a ` +
          "file with one route",
      );
    }
    const { operation } = handler as { operation?: RegisteredOperation };
    for (const [name, value] of Object.entries(operation?.resources ?? {})) {
      if (value === undefined) continue;
      throw new ConfigurationError(
        `The handler of ${key} has the option ${name}, but the routes of a router share one ` +
          `function: set it in the options of defineRouter`,
      );
    }
  }
}
