/** Sends a request. */
export type SendRequest = (request: Request) => Promise<Response>;

/** Statuses of conditions that pass. */
const TRANSIENT: readonly number[] = [429, 502, 503, 504];
/** Methods that have the same effect when they are sent again (RFC 9110, section 9.2.2). */
const IDEMPOTENT: readonly string[] = ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"];
const BASE_DELAY_MS = 200;
const MAX_DELAY_MS = 10_000;

/**
 * Sends a request, and again after a network error or a transient response if that is safe: for
 * idempotent methods, and for requests with an `Idempotency-Key`, which every attempt carries.
 *
 * @param send Sends one attempt.
 * @param request The request. Its signal also ends a wait.
 * @param maxAttempts The maximum number of attempts, with the first one.
 * @returns The last response.
 */
export async function sendWithRetries(
  send: SendRequest,
  request: Request,
  maxAttempts: number,
): Promise<Response> {
  const hasKey = request.headers.has("Idempotency-Key");
  let left = hasKey || IDEMPOTENT.includes(request.method) ? maxAttempts - 1 : 0;
  for (let delayMs = BASE_DELAY_MS;; left--, delayMs *= 2) {
    let waitMs = delayMs * Math.random();
    try {
      const response = await send(left > 0 ? request.clone() : request);
      // the first request with the same key is still running
      const isRunning = hasKey && response.status === 409 && response.headers.has("Retry-After");
      if (left <= 0 || !isRunning && !TRANSIENT.includes(response.status)) return response;
      waitMs = readRetryAfter(response) ?? waitMs;
      if (waitMs > MAX_DELAY_MS) return response;
      await response.body?.cancel();
    } catch (error) {
      if (left <= 0 || request.signal.aborted) throw error;
    }
    await wait(waitMs, request.signal);
  }
}

/** Reads `Retry-After`: seconds or a date (RFC 9110, section 10.2.3). */
function readRetryAfter({ headers }: Response): number | undefined {
  const text = headers.get("Retry-After");
  if (!text) return undefined;
  const seconds = Number(text);
  const waitMs = Number.isNaN(seconds) ? Date.parse(text) - Date.now() : seconds * 1000;
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs);
}

function wait(waitMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    function stop(): void {
      clearTimeout(timer);
      reject(signal.reason);
    }
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, waitMs);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}
