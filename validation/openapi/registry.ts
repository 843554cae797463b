import type { $ZodType } from "zod/v4/core";
import type { AuthMode } from "../authenticate.ts";

/** Facts for the OpenAPI document that a schema cannot tell. Inert at run time. */
export interface OpenApiMetadata {
  /** What the operation does, in a few words. */
  summary?: string;
  /** What the operation does, in CommonMark. */
  description?: string;
  /** Groups of operations. */
  tags?: readonly string[];
  /** A unique name, for generated clients. */
  operationId?: string;
  /** Whether clients should stop using it. */
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
   * Whether the operation is left out of the document.
   * @default false
   */
  hidden?: boolean;
}

/** An operation as its handler declares it. Its route is known to whoever deploys it. */
export interface RegisteredOperation {
  /** Name in metrics and spans. */
  readonly operationName: string;
  /** How it learns who calls. */
  readonly auth: AuthMode;
  /** The body. */
  readonly schema: $ZodType | undefined;
  /** The query string. */
  readonly querySchema: $ZodType | undefined;
  /** The route's parameters. */
  readonly pathSchema: $ZodType | undefined;
  /** The answer. */
  readonly responseSchema: $ZodType | undefined;
  /** Facts that a schema cannot tell. */
  readonly openapi: OpenApiMetadata;
  /** What the infrastructure generator reads. */
  readonly resources: Readonly<Record<string, unknown>>;
}

const operations: RegisteredOperation[] = [];

/** Adds an operation; called when the module of a handler is loaded. */
export function registerOperation(operation: RegisteredOperation): RegisteredOperation {
  operations.push(operation);
  return operation;
}

/**
 * The operations whose modules were loaded, in that order.
 *
 * @returns A copy.
 */
export function getRegisteredOperations(): RegisteredOperation[] {
  return [...operations];
}
