// The entry points that touch neither drizzle nor better-auth: checked without skipLibCheck.
export { defineEnv } from "@trellis/fn/env";
export { isAppError, NotFoundError } from "@trellis/fn/errors";
export { logInfo, metrics } from "@trellis/fn/observability";
export { withObservability } from "@trellis/fn/core";
export { defineApiHandler } from "@trellis/fn/validation";
export { buildValidatedResponse } from "@trellis/fn";
