/**
 * The core of Trellis: errors, environment, observability, handlers and validation, without database and auth.
 *
 * @example
 * ```ts
 * import { buildValidatedResponse, defineApiHandler } from "@trellis/fn";
 * import { createLambdaContext, createRestApiEvent } from "@trellis/fn/testing";
 *
 * const handler = defineApiHandler({ logging: { level: "SILENT" }, metrics: false })(function health({ context }) {
 *   return buildValidatedResponse(context, 200, { status: "ok" });
 * });
 *
 * console.log((await handler(createRestApiEvent(), createLambdaContext())).body); // {"status":"ok"}
 * ```
 *
 * @module
 */
export {
  AppError,
  type AppErrorOptions,
  ConfigurationError,
  ConflictError,
  DatabaseError,
  DeadlineExceededError,
  type ErrorCode,
  ForbiddenError,
  ForeignKeyViolationError,
  isAppError,
  NotFoundError,
  ServiceUnavailableError,
  TooManyRequestsError,
  UnauthorizedError,
  UnexpectedError,
  UniqueViolationError,
  ValidationError,
} from "./errors/mod.ts";
export { defineEnv, getOptionalEnv, getRequiredEnv } from "./env/mod.ts";
export {
  addAnnotation,
  addMetadata,
  endSpan,
  logDebug,
  logError,
  logInfo,
  logWarn,
  metrics,
  MetricUnit,
  startSpan,
  withSpan,
} from "./observability/mod.ts";
export {
  buildErrorResponse,
  buildValidatedResponse,
  getClientAddress,
  getOutgoingHeaders,
  getRequestContext,
  type LambdaContext,
  type ProxyResult,
  readRawBody,
  type RestApiEvent,
  undeclared,
  UserStatus,
  withObservability,
  type WrapperMetadata,
} from "./core/mod.ts";
export {
  defineAuthorizerHandler,
  defineEventHandler,
  defineQueueHandler,
  defineScheduleHandler,
  defineStorageHandler,
  defineTopicHandler,
  defineWebSocketHandler,
} from "./triggers/mod.ts";
export {
  type ApiHandler,
  type ApiHandlerFunction,
  type ApiHandlerParams,
  type AuthMethod,
  type AuthMode,
  type AuthorizedApiParams,
  type AuthorizedOptionalApiParams,
  defineApiHandler,
  type DefineApiHandlerOptions,
  type HandlerParams,
  type Reply,
  reply,
  type SessionApiParams,
  toJsonSchema,
  type ValidatedApiParams,
  validateSchema,
  type ValidationResult,
  z,
} from "./validation/mod.ts";
