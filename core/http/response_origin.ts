import type { StandardSchema } from "../../env/standard_schema.ts";
import type { ProxyResult } from "./lambda.ts";

/** The body of a proxy result before it was serialized. */
export interface ParsedBody {
  /** The value. */
  readonly value: unknown;
  /** The schema that parsed it, if one did. */
  readonly schema: StandardSchema | undefined;
}

/** Marks a result that is sent without a declared response: see {@link undeclared}. */
export const UNDECLARED: unique symbol = Symbol("undeclared");

/** A body, and the text in the result. */
interface SentBody extends ParsedBody {
  readonly text: string;
}

const origins: WeakMap<ProxyResult, SentBody | typeof UNDECLARED> = new WeakMap();

/**
 * Records where a result comes from, for handlers that declare their responses.
 *
 * @param result A new object.
 * @param origin Its body, or {@link UNDECLARED}.
 * @returns The same object.
 */
export function setOrigin(
  result: ProxyResult,
  origin: ParsedBody | typeof UNDECLARED,
): ProxyResult {
  origins.set(result, origin === UNDECLARED ? origin : { ...origin, text: result.body });
  return result;
}

/**
 * Returns what {@link setOrigin} recorded.
 *
 * @returns The origin; `undefined` for a result that was written by hand, or whose body was replaced.
 */
export function getOrigin(result: ProxyResult): ParsedBody | typeof UNDECLARED | undefined {
  const origin = origins.get(result);
  if (origin === undefined || origin === UNDECLARED) return origin;
  return origin.text === result.body ? origin : undefined;
}

/**
 * Lets a handler with `responseSchema` or `responses` send a response that these options do not declare: a file, or the
 * response of another service. Nothing is parsed, so the result must not contain secrets.
 *
 * @param result The result.
 * @returns A copy of the result, which the handler returns as it is.
 *
 * @example
 * ```ts
 * import { undeclared } from "@trellis/fn/core";
 * import { createLambdaContext, createRestApiEvent } from "@trellis/fn/testing";
 * import { defineApiHandler } from "@trellis/fn/validation";
 * import * as z from "zod";
 *
 * const handler = defineApiHandler({
 *   responseSchema: z.object({ title: z.string() }),
 *   logging: { level: "SILENT" },
 *   metrics: false,
 * })(function exportNote() {
 *   return undeclared({ statusCode: 200, headers: { "Content-Type": "text/csv" }, body: "title\nMilk" });
 * });
 *
 * console.log((await handler(createRestApiEvent(), createLambdaContext())).statusCode); // 200
 * ```
 */
export function undeclared(result: ProxyResult): ProxyResult {
  return setOrigin({ ...result }, UNDECLARED);
}
