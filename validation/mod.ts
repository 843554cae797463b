/**
 * Requests in, validated and typed: `defineApiHandler` is the way to write an HTTP function. Bring your schemas from
 * zod 4 (`import * as z from "zod"` keeps a bundle small) or zod/mini.
 *
 * @example
 * ```ts
 * import { buildValidatedResponse } from "@trellis/fn/core";
 * import { createLambdaContext, createRestApiEvent } from "@trellis/fn/testing";
 * import { defineApiHandler } from "@trellis/fn/validation";
 * import * as z from "zod";
 *
 * const handler = defineApiHandler({
 *   querySchema: z.object({ limit: z.coerce.number().int().min(1).max(100).default(20) }),
 *   logging: { level: "SILENT" },
 *   metrics: false,
 * })(function listNotes({ query, context }) {
 *   return buildValidatedResponse(context, 200, { limit: query.limit });
 * });
 *
 * const response = await handler(createRestApiEvent({ query: { limit: "5" } }), createLambdaContext());
 * console.log(response.body); // {"limit":5}
 * ```
 *
 * @module
 */
export type { AuthMode } from "./authenticate.ts";
export type {
  ApiKeyNeeds,
  ApiKeyPermissions,
  AuthMethod,
  AuthMethodMode,
  AuthNeeds,
} from "../core/http/auth_method.ts";
export { defineApiHandler } from "./define_api_handler.ts";
export type {
  ApiHandler,
  ApiHandlerFunction,
  ApiHandlerParams,
  AuthorizedApiParams,
  AuthorizedOptionalApiParams,
  DefineApiHandlerOptions,
  HandlerParams,
  InputParams,
  SessionApiParams,
  ValidatedApiParams,
} from "./handler_types.ts";
export { type BodyParser, createMultipartParser, type MultipartOptions } from "./multipart.ts";
export { toIsoDateTime } from "./iso_date_time.ts";
export {
  type Page,
  type PageHeaders,
  type PageQuery,
  paginate,
  type PaginateOptions,
  type Pagination,
} from "./paginate.ts";
export type { BodyInput } from "./read_body.ts";
export { type KeptLiterals, Reply, reply } from "./reply.ts";
export type {
  Accepted,
  AcceptedOptions,
  DeclaredResponse,
  HandlerResult,
  ResponseSchemas,
  ResponseValidation,
  SoleBody,
  StatusReply,
  SuccessStatus,
} from "./response_types.ts";
export { type JsonSchema, toJsonSchema, type ToJsonSchemaOptions } from "./openapi/json_schema.ts";
export type { SchemaIssue } from "./openapi/convert.ts";
export {
  type ApiRoute,
  buildOpenApiDocument,
  type OpenApiDocument,
  type OpenApiInfo,
  type OpenApiOptions,
  type OpenApiServer,
  type OpenApiVersion,
} from "./openapi/document.ts";
export type { IdempotencyMetadata } from "../core/idempotency.ts";
export {
  getRegisteredOperations,
  type OpenApiMetadata,
  type RegisteredOperation,
} from "./openapi/registry.ts";
export { type Schema, validateSchema, validateSchemaAsync } from "./schema.ts";
export type { ValidationResult } from "./validation_result.ts";
export { z, type ZodSchema, type ZodType } from "./z.ts";
export { ZodError } from "zod";
export type { Flat } from "../core/flat.ts";
export type {
  ApiKeyDetails,
  ApiKeyIdentity,
  JwtClaims,
  JwtIdentity,
} from "../core/http/auth_registry.ts";
export type {
  ActiveOrganization,
  Authorize,
  OrganizationRule,
  SessionNeeds,
} from "../core/http/session.ts";
export type { AsyncFunctionOptions, FunctionOptions } from "../core/function_options.ts";
export type { HttpOptions } from "../core/http_options.ts";
export type { CorsOption, CredentialedOrigins } from "../core/http/cors.ts";
export type { SecurityHeadersOption } from "../core/http/security_headers.ts";
export type { RateLimitRule } from "../core/rate_limit/rate_limit.ts";
export type { RateLimitOptions, RateLimitRequest } from "../core/rate_limit/rate_limit.ts";
export type { LoggingConfig } from "../core/logging_config.ts";
export type { UserStatus } from "../core/http/user_status.ts";
export type { WrapperMetadata } from "../core/with_observability.ts";
