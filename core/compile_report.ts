import { runtimeProcess } from "../env/node_process.ts";
import { HandlerInvocation } from "./handler_invocation.ts";
import type { HandlerSettings } from "./handler_settings.ts";
import { reportOutcome } from "./report_outcome.ts";

/**
 * Compiles the code of {@link reportOutcome} while the first invocation of a process waits, for example
 * for the database. The response then does not wait for it. Does nothing on Deno, where tests would
 * report the callback as a leak.
 *
 * @param invocation The running invocation.
 * @param settings The settings of the handler.
 */
export function compileReportLater(invocation: HandlerInvocation, settings: HandlerSettings): void {
  if (runtimeProcess?.versions.node === undefined || runtimeProcess.versions.deno !== undefined) {
    return;
  }
  setImmediate(() => {
    if (!invocation.ended) compileReport(invocation, settings);
  });
}

/**
 * Reports a response of an invocation that is never written. V8 compiles a function on its first call.
 *
 * @param invocation The running invocation, which is not changed.
 * @param settings The settings of the handler.
 */
export function compileReport(invocation: HandlerInvocation, settings: HandlerSettings): void {
  const copy = new HandlerInvocation(invocation, undefined, invocation.context);
  copy.level = invocation.level;
  // a line with the result would be written by the running invocation
  reportOutcome(copy, { ...settings, logResult: false }, { result: { statusCode: 200 } });
  copy.renderMetrics?.(copy);
}
