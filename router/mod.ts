/**
 * Several routes in one Lambda function.
 *
 * @example
 * ```ts
 * import { buildValidatedResponse } from "@trellis/fn/core";
 * import { defineRouter } from "@trellis/fn/router";
 * import { defineApiHandler } from "@trellis/fn/validation";
 *
 * const listNotes = defineApiHandler()(({ context }) => buildValidatedResponse(context, 200, []));
 *
 * const handler = defineRouter({ "GET /notes": listNotes });
 * console.log(handler.routes.map(({ key }) => key).join()); // GET /notes
 * ```
 *
 * @module
 */
export { defineRouter, type Route, type RouteHandler, type Router } from "./define_router.ts";
export type { RouteKey, RouteMethod, RoutePattern } from "./route_key.ts";
export type { FunctionOptions } from "../core/function_options.ts";
export type { HttpOptions } from "../core/http_options.ts";
export type { RouterOptions } from "./define_router.ts";
