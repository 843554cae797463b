import { ServiceUnavailableError } from "../errors/http_errors.ts";

/** The limit of a request over the network. */
export interface RequestLimit {
  /** Who answers, for the message: `Amazon SQS`. */
  readonly service: string;
  /** Milliseconds for all of it: connection, credentials, header, body, retries. */
  readonly limitMs: number;
  /** Ends the request earlier. */
  readonly signal?: AbortSignal;
}

/** Time in which a process that was busy or suspended reads an answer that has arrived. */
const GRACE_MS = 50;

/**
 * Sends a request and waits for its whole answer up to a limit. Timeouts of clients are not enough: they
 * end with the header, start again with each byte or attempt, or only write a warning.
 *
 * @param limit The service and the limit.
 * @param send Sends the request, and reads the answer. The signal is aborted when no caller waits any more.
 * @returns The result of `send`.
 * @throws {ServiceUnavailableError} If there is no result within the limit. The service may have received the request.
 * @throws The reason of the limit's signal if that is aborted first.
 */
export function limitRequest<T>(
  { service, limitMs, signal }: RequestLimit,
  send: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const abort = new AbortController();
  return new Promise<T>((resolve, reject) => {
    let timer = setTimeout(() => timer = setTimeout(giveUp, GRACE_MS), limitMs);
    signal?.addEventListener("abort", cancel);

    function stop(): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancel);
    }
    function end(error: unknown): void {
      stop();
      reject(error);
      abort.abort(error);
    }
    function giveUp(): void {
      end(new ServiceUnavailableError(`${service} did not answer within ${limitMs / 1000} s`));
    }
    function cancel(): void {
      end(signal!.reason);
    }

    // a function that throws at once must not leave the timer behind
    Promise.resolve(abort.signal).then(send).finally(stop).then(resolve, reject);
  });
}

/** A client of the AWS SDK. */
interface AwsClient {
  // deno-lint-ignore no-explicit-any -- the overloads of each client differ
  send(...args: any[]): unknown;
}

/**
 * Limits each request of a client of the AWS SDK as {@link limitRequest} does. The body of an answer that is read as a stream is
 * not a part of it.
 *
 * @param client The client, which is changed.
 * @param limit The service and the limit of each request.
 * @returns The client.
 */
export function limitClient<C extends AwsClient>(client: C, limit: RequestLimit): C {
  const send = client.send.bind(client) as (command: unknown, options: object) => Promise<unknown>;
  client.send = function sendWithinLimit(
    command: unknown,
    options: { abortSignal?: AbortSignal } = {},
  ): Promise<unknown> {
    return limitRequest(
      { ...limit, signal: options.abortSignal },
      (abortSignal) => send(command, { ...options, abortSignal }),
    );
  };
  return client;
}

/**
 * Settings of clients whose requests can be repeated: an attempt whose connection was lost in silence leaves time for
 * another one within the limit.
 */
export const REPEATABLE = {
  requestHandler: { connectionTimeout: 1000, requestTimeout: 2000, throwOnRequestTimeout: true },
} as const;
