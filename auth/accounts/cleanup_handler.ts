import { getDeadline } from "../../core/async/deadline.ts";
import type { LambdaContext } from "../../core/http/lambda.ts";
import {
  defineScheduleHandler,
  type ScheduleHandlerFunction,
} from "../../core/triggers/schedule.ts";
import type { ScheduleEvent } from "../../core/triggers/trigger_events.ts";
import type { AsyncTriggerOptions, TriggerHandler } from "../../core/triggers/trigger_options.ts";
import { logInfo, logWarn } from "../../observability/logger.ts";
import {
  type AuthCleanupOptions,
  type AuthCleanupResult,
  removeExpiredAuthRows,
} from "./cleanup.ts";
import type { BetterAuthInstance } from "./instance.ts";
import { record } from "../../env/recording.ts";

/** Options of {@link createAuthCleanupHandler}. */
export interface AuthCleanupHandlerOptions
  extends AsyncTriggerOptions, Pick<AuthCleanupOptions, "retentionDays" | "batchSize"> {}

/** The function that {@link createAuthCleanupHandler} returns. */
export type AuthCleanupHandler = TriggerHandler<
  ScheduleEvent,
  AuthCleanupResult,
  ScheduleHandlerFunction<AuthCleanupResult>
>;

/** Time that a batch may take, in milliseconds. */
const BATCH_MS = 2_000;

/**
 * Creates the Lambda function that removes expired rows on a schedule, such as once a day. It stops
 * shortly before its timeout; the next run continues.
 *
 * @param getAuthInstance Returns the instance, such as `getConfiguredSessionAuth`.
 * @param options Retention, size of the batches, and the options of `defineScheduleHandler`.
 * @returns The function to export.
 * @throws {ConfigurationError} If an option is unknown or out of range.
 *
 * @example
 * ```ts
 * // src/functions/schedule/auth_cleanup.ts
 * import { createAuthCleanupHandler, defineAuth } from "@trellis/fn/auth";
 * import { getDrizzleClient } from "@trellis/fn/database";
 *
 * const { getAuth } = defineAuth(() => getDrizzleClient({ provider: "embedded-pg" }), {
 *   secret: "at-least-32-random-characters-0123456789",
 *   baseURL: "http://localhost:3000",
 * });
 * const handler = createAuthCleanupHandler(getAuth, { retentionDays: { session: 90 } });
 * ```
 */
export function createAuthCleanupHandler(
  getAuthInstance: () => BetterAuthInstance | Promise<BetterAuthInstance>,
  options: AuthCleanupHandlerOptions = {},
): AuthCleanupHandler {
  const { retentionDays, batchSize, ...trigger } = options;
  const operationName = trigger.operationName || "AuthCleanup";
  const handler = defineScheduleHandler({ ...trigger, operationName })(
    async function cleanUpAuth({ context }): Promise<AuthCleanupResult> {
      const result = await removeExpiredAuthRows(await getAuthInstance(), {
        ...retentionDays !== undefined && { retentionDays },
        ...batchSize !== undefined && { batchSize },
        ...getStop(context),
      });
      if (result.isComplete) logInfo("Expired auth rows were removed", { ...result.removed });
      else logWarn("Expired auth rows remain; the next run continues", { ...result.removed });
      return result;
    },
  );
  return record("createAuthCleanupHandler", [getAuthInstance, options], handler);
}

function getStop(context: LambdaContext): Pick<AuthCleanupOptions, "stopAtMs"> {
  const deadlineMs = getDeadline(context, Date.now());
  return deadlineMs === undefined ? {} : { stopAtMs: deadlineMs - BATCH_MS };
}
