import type { HttpOptions } from "../core/http/http_options.ts";

/**
 * Options of `defineRouter`. The resources are those of the Lambda function. All other options are for
 * requests without a route, because the handlers have their own; `operationName` is then `router` by
 * default.
 */
export type RouterOptions = HttpOptions;
