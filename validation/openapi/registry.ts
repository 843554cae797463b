import type { $ZodType } from "zod/v4/core";
import type { IdempotencyMetadata } from "../../core/idempotency.ts";
import type { AuthMethodMode } from "../../core/http/auth_method.ts";

/** Data for the OpenAPI document that schemas do not contain. Has no effect at run time. */
export interface OpenApiMetadata {
  /** What the operation does, in a few words. */
  summary?: string;
  /** What the operation does, in CommonMark. */
  description?: string;
  /** Groups of operations. */
  tags?: readonly string[];
  /** A unique name, for generated clients. */
  operationId?: string;
  /** True if clients should stop using it. */
  deprecated?: boolean;
  /**
   * Status of the answer that `responseSchema` describes.
   * @default 200
   */
  successStatus?: number;
  /**
   * More answers by status, with what they mean: `{ 409: "The title is taken" }`. From 400 on their body is that of every
   * error.
   */
  responses?: Readonly<Record<number, string>>;
  /**
   * Describes the operation under `webhooks` by this name, such as `payment.succeeded`, and not under its path: the sender
   * of the webhook calls it, and no client of the API.
   */
  webhook?: string;
  /**
   * True to omit the operation from the document.
   * @default false
   */
  hidden?: boolean;
}

/** An operation as its handler declares it, without its route. */
export interface RegisteredOperation {
  /** Name in metrics and spans. */
  readonly operationName: string;
  /** The authentication mode. */
  readonly auth: AuthMethodMode;
  /** True if the handler refuses some authenticated callers with 403. */
  readonly isRestricted?: boolean;
  /** True if the handler admits anonymous callers although it has an authentication mode. */
  readonly isOptional?: boolean;
  /** The body. */
  readonly schema: $ZodType | undefined;
  /**
   * Media type of the body.
   * @default "application/json"
   */
  readonly bodyType?: string;
  /** The query string. */
  readonly querySchema: $ZodType | undefined;
  /** The route's parameters. */
  readonly pathSchema: $ZodType | undefined;
  /** Headers of the request. */
  readonly headers?: $ZodType;
  /** Cookies of the request. */
  readonly cookies?: $ZodType;
  /** The answer. */
  readonly responseSchema: $ZodType | undefined;
  /**
   * The bodies of responses by status: any of the schemas, or an unknown body if there are none.
   * @default {}
   */
  readonly responses?: Readonly<Record<number, readonly $ZodType[]>>;
  /** Headers of responses by status. */
  readonly responseHeaders?: Readonly<Record<number, $ZodType>>;
  /** Statuses whose responses can have a body without a known schema. */
  readonly openBodies?: ReadonlySet<number>;
  /** What the `ETag` of responses is made of, if the handler answers conditional requests. */
  readonly etag?: "body" | "version";
  /** True if the handler answers range requests. */
  readonly hasRanges?: boolean;
  /** True if requests are limited. */
  readonly isRateLimited?: boolean;
  /** True if the option `errorBody` replaces the bodies of errors. */
  readonly hasErrorBody?: boolean;
  /** Headers with signatures of webhooks that the handler checks: `X-Hub-Signature-256`. */
  readonly signatures?: readonly string[];
  /** Data that schemas do not contain. */
  readonly openapi: OpenApiMetadata;
  /** Facts about the idempotency key, if the operation has one. */
  readonly idempotency?: IdempotencyMetadata;
  /** Options for the infrastructure generator. */
  readonly resources: Readonly<Record<string, unknown>>;
}

const operations: RegisteredOperation[] = [];

/** Registers an operation when the module of its handler is loaded. */
export function registerOperation(operation: RegisteredOperation): RegisteredOperation {
  operations.push(operation);
  return operation;
}

/**
 * Returns the operations of all loaded modules, in the order of loading.
 *
 * @returns A copy.
 */
export function getRegisteredOperations(): RegisteredOperation[] {
  return [...operations];
}
