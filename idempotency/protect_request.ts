import { buildErrorResponse } from "../core/http/error_response.ts";
import type { ProxyResult } from "../core/http/lambda.ts";
import type { ProtectedOptions, ProtectedParams, RequestIdempotency } from "../core/idempotency.ts";
import { ConflictError, UnprocessableContentError } from "../errors/http_errors.ts";
import type { Claim, IdempotencyBackend, RecordKey } from "./backend.ts";
import { countDuplicate, executeOnce, type Execution, NOT_STORED } from "./execute_once.ts";
import {
  createRecordId,
  describeRequest,
  hash,
  invalidKey,
  KEY_HEADER,
  readKeyHeader,
} from "./request_key.ts";
import { checkSettings, getTerms } from "./settings.ts";
import { CORRELATION_ID_HEADER } from "../core/http/correlation_id.ts";
import { isSensitiveKey } from "../observability/sensitive_names.ts";

type RequestHandler<TParams> = (params: TParams) => ProxyResult | Promise<ProxyResult>;

/**
 * Wraps the function of an API handler, so that duplicates of a request get the response of the first.
 *
 * @param backend Storage of the records.
 * @param handler The function.
 * @param options The handler's options.
 * @returns A function with the same parameters.
 * @throws {ConfigurationError} If the option `idempotency` is invalid.
 */
export function protectRequest<TParams>(
  backend: IdempotencyBackend<unknown>,
  handler: RequestHandler<TParams>,
  { idempotency, errorBody }: ProtectedOptions,
): (params: TParams) => Promise<ProxyResult> {
  checkSettings("request", idempotency);
  const settings = idempotency as RequestIdempotency<TParams, unknown>;

  function createExecution(params: TParams & ProtectedParams): Execution<ProxyResult> {
    return {
      run: async (tx) => await handler(tx === undefined ? params : { ...params, tx }),
      isFailure: (response) => isFailedStatus(Number(response?.statusCode)) || !isValid(response),
      encode: encodeResponse,
      decode: (text) => decodeResponse(text, false),
      encodeError(error): string | undefined {
        const response = buildErrorResponse(params.context, error, errorBody);
        return isFailedStatus(response.statusCode) ? undefined : encodeResponse(response);
      },
    };
  }

  return async function runOnce(given): Promise<ProxyResult> {
    const params = given as TParams & ProtectedParams;
    const record = await readRecord(params, settings);
    const execution = createExecution(params);
    if (record === undefined) return await runUnprotected(backend, execution);
    const executed = await executeOnce(backend, record, getTerms(settings), execution);
    return "value" in executed ? executed.value : answerDuplicate(executed.other, record, params);
  };
}

/** Returns the record of a request; `undefined` if it has no key and needs none. */
async function readRecord<TParams>(
  params: TParams & ProtectedParams,
  { key: getKey, required = true, scope: getScope, fingerprint }: RequestIdempotency<
    TParams,
    unknown
  >,
): Promise<RecordKey | undefined> {
  // an API key of an organization has no user
  const { event, context, metadata, apiKey, userId = apiKey?.referenceId ?? "" } = params;
  const key = getKey === undefined ? readKeyHeader(event) : getKey(params);
  if (key === undefined || key === "") {
    if (!required) return undefined;
    throw getKey === undefined
      ? invalidKey(`${KEY_HEADER} is missing: send a new UUID with each new request`)
      : invalidKey("The request has no idempotency key");
  }
  const scope = getScope === undefined ? userId : getScope(params);
  const common = fingerprint === undefined
    ? describeRequest(event)
    : fingerprint && fingerprint(params);
  return {
    id: await createRecordId(context?.functionName ?? "", metadata.operationName, scope, key),
    fingerprint: common === false ? "" : await hash(common),
  };
}

function runUnprotected(
  { transactions }: IdempotencyBackend<unknown>,
  execution: Execution<ProxyResult>,
): Promise<ProxyResult> {
  return transactions === undefined
    ? execution.run(undefined)
    : transactions.run((tx) => execution.run(tx));
}

function answerDuplicate(
  other: Exclude<Claim, { fence: string }>,
  { fingerprint }: RecordKey,
  { metadata }: ProtectedParams,
): ProxyResult {
  if (other.fingerprint !== fingerprint) {
    throw new UnprocessableContentError(
      "The idempotency key was used for another request: send a new key",
    );
  }
  countDuplicate(metadata.operationName, other.state);
  if (other.state === "running") {
    throw new ConflictError("A request with the same idempotency key is being processed", {
      headers: { "Retry-After": "1" },
    });
  }
  if (other.result === NOT_STORED) {
    throw new ConflictError(
      "A request with the same idempotency key was processed. Its response is too large to be sent again",
    );
  }
  return decodeResponse(other.result, true);
}

/** Checks what a handler returned. An invalid response becomes a 500 later. */
function isValid(response: ProxyResult | undefined): boolean {
  return Number.isInteger(response?.statusCode);
}

/** Header of a response that is sent again. */
const REPLAYED_HEADER = "Idempotency-Replayed";

/**
 * Headers that belong to one delivery of a response, beside those with credentials. The correlation id is that of the
 * request that is answered.
 */
const OF_DELIVERY: ReadonlySet<string> = new Set([
  CORRELATION_ID_HEADER.toLowerCase(),
  REPLAYED_HEADER.toLowerCase(),
]);

/** `Set-Cookie`, `set-auth-token`, `set-auth-jwt`; RFC 9110, section 11.6.3. */
const CREDENTIALS = /^set-|authentication-info$/;

/** Marks of pages, numbers of tokens, and signatures of messages (RFC 9421, section 4). */
const NO_CREDENTIALS =
  /(?:^|-)(?:next|prev|previous|page|paging|pagination|continuation|cursor|sync)-token$|-(?:token-count|tokens-(?:limit|remaining|used)|(?:limit|remaining|used)-tokens)$|^(?:accept-)?signature(?:-input)?$/;

/** Checks whether a header is neither stored nor sent again. */
function isOfDelivery(name: string): boolean {
  const lowerCase = name.toLowerCase();
  return OF_DELIVERY.has(lowerCase) || CREDENTIALS.test(lowerCase) ||
    isSensitiveKey(lowerCase) && !NO_CREDENTIALS.test(lowerCase);
}

/** Statuses below 500 that ask the client to try again (RFC 9110, RFC 8470, RFC 6585). */
const TRANSIENT: ReadonlySet<number> = new Set([408, 425, 429]);

/**
 * Checks whether a status frees the key.
 *
 * @param status HTTP status.
 */
function isFailedStatus(status: number): boolean {
  return status >= 500 || TRANSIENT.has(status);
}

/**
 * Returns the text that is stored for a response.
 *
 * @param response The handler's response.
 */
function encodeResponse(response: ProxyResult): string {
  const { statusCode, headers, multiValueHeaders, body, isBase64Encoded } = response;
  return JSON.stringify({
    statusCode,
    headers: headers && withoutDelivery(headers),
    multiValueHeaders: multiValueHeaders && withoutDelivery(multiValueHeaders),
    body,
    isBase64Encoded,
  });
}

function withoutDelivery<T>(headers: Readonly<Record<string, T>>): Record<string, T> {
  const kept = Object.entries(headers).filter(([name]) => !isOfDelivery(name));
  return Object.fromEntries(kept);
}

/**
 * Returns a stored response.
 *
 * @param text What {@link encodeResponse} returned.
 * @param replayed True to mark it as a response that is sent again.
 */
function decodeResponse(text: string, replayed: boolean): ProxyResult {
  const response = JSON.parse(text) as ProxyResult;
  if (!replayed) return response;
  return { ...response, headers: { ...response.headers, [REPLAYED_HEADER]: "true" } };
}
