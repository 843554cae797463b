import type { ErrorBodyFormat } from "./http/error_response.ts";
import type { ApiEvent, LambdaContext, ProxyResult } from "./http/lambda.ts";
import type { OptionRule } from "./option_rules.ts";
import type { WrapperMetadata } from "./with_observability.ts";

/** Settings that all idempotent handlers share. */
export interface IdempotencySettings<TTransaction> {
  /**
   * Where results are stored: `createTransactionStore`, `createLeaseStore` or `createDynamoDbStore` of
   * `@trellis/fn/idempotency`. A transaction store adds `tx` to the handler's parameters.
   */
  store: IdempotencyStore<TTransaction>;
  /**
   * How long a result is kept, in seconds, 1 to 31,536,000. A duplicate that arrives later is executed again.
   * @default 86400
   */
  ttlSeconds?: number;
  /**
   * How long an execution may take, in seconds, 1 to 3,600. If its process dies, duplicates are rejected until then.
   * @default the time that is left of the invocation plus 1 second; 60 where the platform sets no limit
   */
  leaseSeconds?: number;
}

/** Option `idempotency` of `defineApiHandler`. */
export interface RequestIdempotency<TParams = never, TTransaction = never>
  extends IdempotencySettings<TTransaction> {
  /**
   * Returns the key of a request from its input, such as the id of a webhook's delivery. `undefined` counts as a missing key.
   * @default the header `Idempotency-Key`
   */
  key?: (params: TParams) => string | undefined;
  /**
   * Rejects requests without a key with status 400. Otherwise they are executed without protection.
   * @default true
   */
  required?: boolean;
  /**
   * Returns what a key belongs to. The same key in two scopes names two requests.
   * @default the user's id
   */
  scope?: (params: TParams) => string;
  /**
   * Returns what a duplicate must have in common with the first request; a key that comes with something else is rejected with
   * status 422. `false` accepts any request with the same key as a duplicate.
   * @default method, path, query string and body
   */
  fingerprint?: ((params: TParams) => string) | false;
}

/** Option `idempotency` of handlers of queues, events, streams, table streams and Kafka. */
export interface MessageIdempotency<TParams = never, TTransaction = never>
  extends IdempotencySettings<TTransaction> {
  /**
   * Returns the key of a message from its content.
   * @default the id of the message, event or record
   */
  key?: (params: TParams) => string;
}

/** Parameters of an API handler that every store reads. */
export interface ProtectedParams {
  /** The gateway's event. */
  readonly event: ApiEvent;
  /** Lambda's context. */
  readonly context: LambdaContext;
  /** Ids of the invocation. */
  readonly metadata: WrapperMetadata;
  /** Id of the user, if there is one. */
  readonly userId?: string;
  /** The API key, if the caller used one. */
  readonly apiKey?: { readonly referenceId: string };
}

/** Options of an API handler that its protection needs. */
export interface ProtectedOptions {
  /** The handler's option. */
  idempotency?: RequestIdempotency<never, unknown>;
  /** Format of error responses. */
  errorBody?: ErrorBodyFormat;
}

/** The values of the header `Idempotency-Key`: 1 to 255 visible ASCII characters without quotes and backslashes, which may be quoted. */
export const KEY_HEADER_PATTERN = String.raw`^(?:[!#-\[\]-~]{1,255}|"[!#-\[\]-~]{1,255}")$`;

/** Facts about the idempotency key of an operation. */
export interface IdempotencyMetadata {
  /** True if the key is the header `Idempotency-Key`, false if the handler takes it from the input. */
  readonly isHeader: boolean;
  /** True if requests without a key are rejected. */
  readonly isRequired: boolean;
}

/** Store of results, with the implementation of idempotent handlers. */
export interface IdempotencyStore<TTransaction = never> {
  /** Type of the parameter `tx`; the property does not exist at run time. */
  readonly transaction?: TTransaction;
  /** Wraps an API handler's function. */
  protectRequest<TParams>(
    handler: (params: TParams) => ProxyResult | Promise<ProxyResult>,
    options: ProtectedOptions,
  ): (params: TParams) => Promise<ProxyResult>;
  /** Returns what the OpenAPI document says about the key. */
  describeKey(options: RequestIdempotency<never, unknown>): IdempotencyMetadata;
  /** Wraps the function of a handler without a client; `getKey` reads the id of a message. */
  protectMessage<TParams, TResult>(
    handler: (params: TParams) => TResult,
    options: MessageIdempotency<never, unknown>,
    getKey: (params: TParams) => string,
  ): (params: TParams) => Promise<Awaited<TResult>>;
}

/** Parameter that a transaction store adds. */
export type TransactionParam<TTransaction> = [TTransaction] extends [never] ? unknown
  : { /** The client of the transaction that also stores the result. */ tx: TTransaction };

/** Accepts the option `idempotency`; the store checks the rest. */
export const IDEMPOTENCY_OPTION: OptionRule = [
  (value) => (value as RequestIdempotency | null)?.store?.protectRequest !== undefined,
  "{ store } with a store of @trellis/fn/idempotency",
];

/**
 * Returns a handler that runs once for each message, if the option `idempotency` is set.
 *
 * @param handler The user's function.
 * @param idempotency The option.
 * @param getKey Reads the id of a message.
 */
export function protectMessages<TParams, TResult>(
  handler: (params: TParams) => TResult,
  idempotency: MessageIdempotency<never, unknown> | undefined,
  getKey: (params: TParams) => string,
): (params: TParams) => TResult | Promise<Awaited<TResult>> {
  return idempotency?.store.protectMessage(handler, idempotency, getKey) ?? handler;
}
