// deno-lint-ignore-file no-console -- how long a fault takes is printed, not asserted
import type { ApiEvent } from "../../core/mod.ts";
import { setLogOutput } from "../../observability/mod.ts";
import { createLambdaContext, createRestApiEvent } from "../../testing/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import { type LogLine, parseLines } from "./capture_logs.ts";

/** What a client and the log saw of one request. */
export interface Seen {
  /** The HTTP status. */
  readonly status: number;
  /** The code in the body, with an error. */
  readonly code: string | undefined;
  /** The answer's text. */
  readonly body: string;
  /** The answer's `Retry-After` in seconds, when it has one. */
  readonly retryAfterSeconds: number | undefined;
  /** Class of the error in the log, with an error. */
  readonly error: string | undefined;
  /** Milliseconds. */
  readonly ms: number;
}

/** Sends a request through a new handler. */
export interface FaultLab {
  /**
   * Runs work in a request, as a client sees it.
   *
   * @param label What is printed with the figures.
   * @param work The handler.
   * @param timeoutMs The function's time.
   */
  request(label: string, work: () => Promise<unknown>, timeoutMs?: number): Promise<Seen>;
  /** Everything that was logged so far. */
  readonly lines: LogLine[];
  /** Gives the log back. */
  close(): void;
}

/** Words of SQL, addresses and passwords that no client may read. */
const INSIDE = /select|insert|127\.0\.0\.1|localhost|postgres|ECONN|password/i;

/** Begins a lab: its requests log into `lines`. */
export function openFaultLab(): FaultLab {
  const lines: LogLine[] = [];
  const restore = setLogOutput((text) => void lines.push(...parseLines([text])));
  return {
    lines,
    close: restore,
    async request(label, work, timeoutMs = 30_000): Promise<Seen> {
      const handler = defineApiHandler({ operationName: "Fault" })(async () => ({
        statusCode: 200,
        body: JSON.stringify(await work() ?? null),
      }));
      const requestId = crypto.randomUUID();
      const startedAt = performance.now();
      const event = createRestApiEvent() as ApiEvent;
      const { statusCode: status, body, headers } = await handler(
        event as Parameters<typeof handler>[0],
        createLambdaContext({ timeoutMs, awsRequestId: requestId }),
      );
      const ms = Math.round(performance.now() - startedAt);
      const line = lines.find((one) =>
        one.function_request_id === requestId && one.message === "request failed"
      );
      const seen: Seen = {
        status,
        code: status < 400 ? undefined : JSON.parse(body).code,
        body,
        retryAfterSeconds: headers?.["Retry-After"] === undefined
          ? undefined
          : Number(headers["Retry-After"]),
        error: line?.error?.name,
        ms,
      };
      if (status >= 400 && INSIDE.test(body)) {
        throw new Error(`the client was told too much: ${body}`);
      }
      if (label !== "") {
        console.log(
          `${label}: ${status} ${[seen.error, seen.code].filter(Boolean).join(" ")} ${ms} ms`,
        );
      }
      return seen;
    },
  };
}
