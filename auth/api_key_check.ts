import { and, eq, gt, isNull, lt, lte, type SQL, sql } from "drizzle-orm";
import { getHeader } from "../core/http/api_event.ts";
import type {
  ApiKeyIdentity,
  ApiKeyPermissions,
  CredentialNeeds,
} from "../core/http/auth_registry.ts";
import { encodeBase64 } from "../core/http/base64.ts";
import type { ApiEvent } from "../core/http/lambda.ts";
import { withQueryMetrics } from "../database/queries/query_metrics.ts";
import {
  ForbiddenError,
  ServiceUnavailableError,
  UnauthorizedError,
} from "../errors/http_errors.ts";
import {
  type ApiKeyConfiguration,
  type ApiKeySettings,
  type ApiKeyTable,
  findConfiguration,
  isDefaultConfig,
} from "./api_key_options.ts";
import { type ApiKeyRow, planUsage, type UsagePlan } from "./api_key_usage.ts";
import type { AuthDatabase } from "./better_auth_types.ts";

/** Printable ASCII. */
const KEY = /^[\x20-\x7e]{1,4096}$/;

/** Attempts if other requests use the key between the query and the update. */
const MAX_ATTEMPTS = 50;

/**
 * Checks the API key of a request with one query and one update, like `verifyApiKey` of
 * better-auth's plugin, without loading it. Unlike the plugin it keeps expired and exhausted rows.
 *
 * @param event The event.
 * @param needs What the handler requires.
 * @param settings The validated options.
 * @param db The client.
 * @returns The identity of the caller.
 * @throws {UnauthorizedError} If the key is missing, unknown, disabled or expired.
 * @throws {ForbiddenError} If the key may not do what the handler requires.
 * @throws {TooManyRequestsError} If the key has no requests left.
 */
export async function checkApiKey(
  event: ApiEvent,
  needs: CredentialNeeds,
  settings: ApiKeySettings,
  getDb: () => Promise<AuthDatabase>,
): Promise<ApiKeyIdentity> {
  const given = settings.headers.map((name) => getHeader(event, name, name)).find(Boolean);
  if (given === undefined) throw refuse("The API key is missing");
  if (!KEY.test(given)) throw invalidKey();
  const stored = settings.isHashed ? await hashKey(given) : given;
  const db = await getDb();
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const row = await findKey(db, settings, stored);
    const configuration = findConfiguration(settings.configurations, row.configId);
    const permissions = parsePermissions(row.permissions);
    checkPermissions(permissions, needs.permissions);
    const now = new Date();
    const plan = planUsage(row, configuration, now.getTime());
    const used = await applyUsage(db, settings.table, row, plan, now);
    if (used === undefined) continue;
    if (plan.refusal !== undefined) throw plan.refusal;
    return toIdentity(used, permissions, configuration);
  }
  throw new ServiceUnavailableError("The API key is used by too many requests at once");
}

interface PreparedKeyQuery {
  execute(values: { key: string }): Promise<ApiKeyRow[]>;
}

const queries: WeakMap<AuthDatabase, WeakMap<ApiKeyTable, PreparedKeyQuery>> = new WeakMap();
let lastQuery = 0;

async function findKey(
  db: AuthDatabase,
  { table, configId }: ApiKeySettings,
  key: string,
): Promise<ApiKeyRow> {
  const query = getKeyQuery(db, table);
  const [row] = await withQueryMetrics("findApiKey", () => query.execute({ key }));
  if (row === undefined || row.enabled === false) throw invalidKey();
  if (row.expiresAt !== null && Date.now() > row.expiresAt.getTime()) throw invalidKey();
  const isExpected = configId === undefined || row.configId === configId ||
    (isDefaultConfig(row.configId) && isDefaultConfig(configId));
  if (!isExpected) throw invalidKey();
  return row;
}

function getKeyQuery(db: AuthDatabase, table: ApiKeyTable): PreparedKeyQuery {
  let ofClient = queries.get(db);
  if (ofClient === undefined) queries.set(db, ofClient = new WeakMap());
  let query = ofClient.get(table);
  if (query === undefined) ofClient.set(table, query = prepareKeyQuery(db, table));
  return query;
}

function prepareKeyQuery(db: AuthDatabase, table: ApiKeyTable): PreparedKeyQuery {
  return db.select(getRowColumns(table)).from(table)
    .where(eq(table.key, sql.placeholder("key")))
    .limit(1)
    .prepare(`trellis_find_api_key_${++lastQuery}`) as unknown as PreparedKeyQuery;
}

function getRowColumns(table: ApiKeyTable) {
  return {
    id: table.id,
    configId: table.configId,
    name: table.name,
    referenceId: table.referenceId,
    refillInterval: table.refillInterval,
    refillAmount: table.refillAmount,
    lastRefillAt: table.lastRefillAt,
    enabled: table.enabled,
    rateLimitEnabled: table.rateLimitEnabled,
    rateLimitTimeWindow: table.rateLimitTimeWindow,
    rateLimitMax: table.rateLimitMax,
    requestCount: table.requestCount,
    remaining: table.remaining,
    lastRequest: table.lastRequest,
    expiresAt: table.expiresAt,
    createdAt: table.createdAt,
    permissions: table.permissions,
    metadata: table.metadata,
  };
}

/**
 * Writes the plan if its conditions still hold, so that requests at the same time cannot use more than
 * the key allows.
 *
 * @returns The changed row, or `undefined` if another request was faster.
 */
async function applyUsage(
  db: AuthDatabase,
  table: ApiKeyTable,
  row: ApiKeyRow,
  plan: UsagePlan,
  now: Date,
): Promise<ApiKeyRow | undefined> {
  const conditions = [eq(table.id, row.id), sql`${table.enabled} IS NOT FALSE`];
  // better-auth notes no change of a request that it refuses
  const changes: Record<string, unknown> = plan.refusal === undefined ? { updatedAt: now } : {};
  addQuota(table, row, plan, now, conditions, changes);
  addCounter(table, row, plan, now, conditions, changes);
  if (Object.keys(changes).length === 0) return row;
  const [used] = await withQueryMetrics(
    "useApiKey",
    () => db.update(table).set(changes).where(and(...conditions)).returning(getRowColumns(table)),
  );
  return used as ApiKeyRow | undefined;
}

function addQuota(
  table: ApiKeyTable,
  row: ApiKeyRow,
  { quota }: UsagePlan,
  now: Date,
  conditions: SQL[],
  changes: Record<string, unknown>,
): void {
  if (quota === "decrement") {
    conditions.push(gt(table.remaining, 0));
    changes.remaining = sql`${table.remaining} - 1`;
  }
  if (quota === "refill") {
    conditions.push(
      row.lastRefillAt === null
        ? isNull(table.lastRefillAt)
        : isSameMillisecond(table.lastRefillAt, row.lastRefillAt),
    );
    changes.remaining = (row.refillAmount ?? 1) - 1;
    changes.lastRefillAt = now;
  }
}

function addCounter(
  table: ApiKeyTable,
  row: ApiKeyRow,
  { counter }: UsagePlan,
  now: Date,
  conditions: SQL[],
  changes: Record<string, unknown>,
): void {
  if (counter === "none") return;
  changes.lastRequest = now;
  if (counter === "touch") return;
  const windowStart = new Date(now.getTime() - (row.rateLimitTimeWindow ?? 0));
  if (counter === "increment") {
    conditions.push(gt(table.lastRequest, windowStart), lt(table.requestCount, row.rateLimitMax));
    changes.requestCount = sql`${table.requestCount} + 1`;
    return;
  }
  conditions.push(
    row.lastRequest === null ? isNull(table.lastRequest) : lte(table.lastRequest, windowStart),
  );
  changes.requestCount = 1;
}

/** Compares a column with a `Date`, which has milliseconds. */
function isSameMillisecond(column: ApiKeyTable["lastRefillAt"], date: Date): SQL {
  return eq(sql`date_trunc('milliseconds', ${column})`, sql.param(date, column));
}

/** Hashes a key like the plugin: SHA-256 in base64url without padding. */
async function hashKey(key: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
  return encodeBase64(new Uint8Array(digest)).replaceAll("+", "-").replaceAll("/", "_")
    .replaceAll("=", "");
}

function parsePermissions(text: string | null): ApiKeyPermissions {
  const value = parseJson(text);
  return typeof value === "object" && value !== null ? value as ApiKeyPermissions : {};
}

function parseJson(text: string | null): unknown {
  try {
    return text === null ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

function checkPermissions(has: ApiKeyPermissions, needs: ApiKeyPermissions = {}): void {
  const isAllowed = Object.entries(needs).every(([resource, actions]) => {
    const allowed: unknown = Object.hasOwn(has, resource) ? has[resource] : undefined;
    return Array.isArray(allowed) && actions.every((action) => allowed.includes(action));
  });
  if (!isAllowed) throw new ForbiddenError("The API key may not do this");
}

function toIdentity(
  { id, configId, name, referenceId, remaining, expiresAt, metadata }: ApiKeyRow,
  permissions: ApiKeyPermissions,
  { references = "user" }: ApiKeyConfiguration,
): ApiKeyIdentity {
  const parsed = parseJson(metadata);
  return {
    userId: references === "user" ? referenceId : undefined,
    apiKey: {
      id,
      configId: configId || "default",
      name,
      referenceId,
      permissions,
      // older versions of the plugin stored JSON of JSON
      metadata: typeof parsed === "string" ? parseJson(parsed) : parsed,
      remaining,
      expiresAt,
    },
  };
}

function refuse(message: string): UnauthorizedError {
  return new UnauthorizedError(message, { headers: { "WWW-Authenticate": "ApiKey" } });
}

/** Uses one message for every reason, so that clients cannot find out which keys exist. */
function invalidKey(): UnauthorizedError {
  return refuse("The API key is not valid");
}
