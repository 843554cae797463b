import type { MessageIdempotency, ProtectedParams } from "../core/idempotency.ts";
import { ServiceUnavailableError, UnexpectedError } from "../errors/http_errors.ts";
import type { IdempotencyBackend, RecordKey } from "./backend.ts";
import { countDuplicate, executeOnce, type Execution, NOT_STORED } from "./execute_once.ts";
import { createRecordId } from "./request_key.ts";
import { checkSettings, getTerms } from "./settings.ts";

/**
 * Wraps the function of a handler without a client, so that a message that is delivered several times is processed once.
 *
 * @param backend Storage of the records.
 * @param handler The function.
 * @param options The option `idempotency`.
 * @param getMessageId Returns the id of a message.
 * @returns A function with the same parameters. It returns the stored result for duplicates. Rejects while another consumer
 * processes the message, so that it is delivered again.
 * @throws {ConfigurationError} If the option is invalid.
 */
export function protectMessage<TParams, TResult>(
  backend: IdempotencyBackend<unknown>,
  handler: (params: TParams) => TResult,
  options: MessageIdempotency<never, unknown>,
  getMessageId: (params: TParams) => string,
): (params: TParams) => Promise<Awaited<TResult>> {
  checkSettings("message", options);
  const settings = options as MessageIdempotency<TParams, unknown>;
  const getKey = settings.key ?? getMessageId;

  return async function runOnce(given): Promise<Awaited<TResult>> {
    const params = given as TParams & ProtectedParams;
    const { operationName } = params.metadata;
    const record = await createRecord(params, getKey(params));
    const executed = await executeOnce(
      backend,
      record,
      getTerms(settings),
      createExecution(handler, params),
    );
    if ("value" in executed) return executed.value;
    countDuplicate(operationName, executed.other.state);
    if (executed.other.state === "running") {
      throw new ServiceUnavailableError(
        "Another consumer processes this message: it fails here, so that it is delivered again",
      );
    }
    return decode<TResult>(executed.other.result);
  };
}

async function createRecord(
  { context, metadata }: ProtectedParams,
  key: string,
): Promise<RecordKey> {
  if (typeof key !== "string" || key === "") {
    throw new UnexpectedError(
      "The message has no idempotency key: idempotency.key must return a text",
    );
  }
  const functionName = context?.functionName ?? "";
  return {
    id: await createRecordId(functionName, metadata.operationName, "", key),
    fingerprint: "",
  };
}

function createExecution<TParams, TResult>(
  handler: (params: TParams) => TResult,
  params: TParams,
): Execution<Awaited<TResult>> {
  async function run(tx: unknown): Promise<Awaited<TResult>> {
    return await handler(tx === undefined ? params : { ...params, tx });
  }
  return {
    run,
    isFailure: () => false,
    encode,
    decode: decode<TResult>,
    encodeError: () => undefined,
  };
}

/** Serializes a result. A value that JSON cannot hold, such as a bigint, must not fail a processed message. */
function encode(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch {
    return NOT_STORED;
  }
}

function decode<TResult>(text: string): Awaited<TResult> {
  return text === NOT_STORED ? undefined as Awaited<TResult> : JSON.parse(text);
}
