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
import { decodeResponse, encodeResponse, isFailedStatus } from "./stored_response.ts";

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
