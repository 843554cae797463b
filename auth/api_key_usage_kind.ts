import { API_KEY_COLUMNS } from "./api_key_options.ts";
import type { ApiKeyRow, CounterStep, QuotaStep, UsagePlan, UsedKey } from "./api_key_usage.ts";

/** Values for the placeholders of {@link UsageStatement}. Each statement reads only some of them. */
export interface UsageValues {
  /** Id of the key. */
  readonly id: string;
  readonly now: Date;
  /** Start of the window of requests that ends now. */
  readonly windowStart: Date;
  readonly rateLimitMax: number | null;
  /** Time of the last refill, as it was read. */
  readonly lastRefillAt: Date | null;
  /** Remaining requests after a refill. */
  readonly refilled: number;
}

/** A query of the key with a stored text. */
export interface KeyQuery {
  execute(values: { readonly key: string }): Promise<ApiKeyRow[]>;
}

/** An update that writes a plan if its conditions still hold. */
export interface UsageStatement {
  execute(values: UsageValues): Promise<UsedKey[]>;
}

/** The statements of a client and a table. */
export interface KeyStatements {
  readonly find: KeyQuery;
  /** Returns the update for a plan, or `undefined` if there is nothing to write. */
  getUsage(row: ApiKeyRow, plan: UsagePlan): UsageStatement | undefined;
}

/** The facts of a row and its plan on which the text of an update depends. */
export interface UsageKind {
  readonly quota: QuotaStep;
  readonly counter: CounterStep;
  readonly isRefused: boolean;
  readonly isFirstRefill: boolean;
  readonly isFirstRequest: boolean;
}

/**
 * Returns the kind of an update, or `undefined` if there is nothing to write: better-auth writes nothing
 * for a request that it refuses, except its quota.
 */
export function getUsageKind(
  row: ApiKeyRow,
  { quota, counter, refusal }: UsagePlan,
): UsageKind | undefined {
  if (refusal !== undefined && quota === "none" && counter === "none") return undefined;
  return {
    quota,
    counter,
    isRefused: refusal !== undefined,
    isFirstRefill: quota === "refill" && row.lastRefillAt === null,
    isFirstRequest: counter === "start" && row.lastRequest === null,
  };
}

/** The columns of the query of a key. */
export const FOUND_COLUMNS = /* @__PURE__ */ API_KEY_COLUMNS.filter((name) =>
  name !== "key" && name !== "updatedAt"
) satisfies readonly (keyof ApiKeyRow)[];

/** The columns that an update returns. */
export const USED_COLUMNS = [
  "id",
  "configId",
  "name",
  "referenceId",
  "remaining",
  "expiresAt",
  "metadata",
] as const satisfies readonly (keyof UsedKey)[];
