import { getHeader } from "../../core/http/api_event.ts";
import type { ApiKeyNeeds, ApiKeyPermissions } from "../../core/http/auth_method.ts";
import type { ApiKeyIdentity } from "../../core/http/auth_registry.ts";
import { encodeBase64Url } from "../../core/http/base64.ts";
import type { ApiEvent } from "../../core/http/lambda.ts";
import { parseJsonOr } from "../../core/http/parse_json.ts";
import { type RefusalReason, refuseCredential } from "../../core/http/refuse_credential.ts";
import { withQueryMetrics } from "../../database/queries/query_metrics.ts";
import {
  ForbiddenError,
  ServiceUnavailableError,
  type UnauthorizedError,
} from "../../errors/http_errors.ts";
import type { AuthDatabase } from "../better_auth/better_auth_types.ts";
import { isBanned } from "../config/ban.ts";
import {
  type ApiKeyConfiguration,
  type ApiKeySettings,
  findConfiguration,
  isDefaultConfig,
} from "./api_key_options.ts";
import {
  changesKey,
  findApiKey,
  type OwnedApiKeyRow,
  writeApiKeyUse,
} from "./api_key_statements.ts";
import { planUsage, type UsedKey } from "./api_key_usage.ts";

/** Printable ASCII. */
const KEY = /^[\x20-\x7e]{1,4096}$/;

/** Attempts if other requests use the key between the query and the update. */
const MAX_ATTEMPTS = 50;

/**
 * Checks the API key of a request with one query and one update, like `verifyApiKey` of
 * better-auth's plugin, without loading it. Unlike the plugin it refuses keys whose owner was deleted
 * or is banned, and keeps expired and exhausted rows.
 *
 * @param event The event.
 * @param needs What the handler requires.
 * @param settings The validated options.
 * @param db The client.
 * @returns The identity of the caller.
 * @throws {UnauthorizedError} If the key is missing, unknown, disabled or expired, or its owner was
 * deleted or is banned.
 * @throws {ForbiddenError} If the key may not do what the handler requires.
 * @throws {TooManyRequestsError} If the key has no requests left.
 */
export async function checkApiKey(
  event: ApiEvent,
  needs: ApiKeyNeeds,
  settings: ApiKeySettings,
  getDb: () => Promise<AuthDatabase>,
): Promise<ApiKeyIdentity> {
  const given = settings.headers.map((name) => getHeader(event, name)).find(Boolean);
  if (given === undefined) throw refuse("no credential", "The API key is missing");
  if (!KEY.test(given)) throw invalidKey("malformed");
  const stored = settings.isHashed ? await hashKey(given) : given;
  const db = await getDb();
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const row = await findKey(db, settings, stored);
    const configuration = findConfiguration(settings.configurations, row.configId);
    checkOwner(row, configuration, Date.now());
    const permissions = parsePermissions(row.permissions);
    checkPermissions(permissions, needs.permissions);
    const now = new Date();
    const plan = planUsage(row, configuration, now.getTime());
    // a request at the same time may have used the key since the query
    const [used] = changesKey(plan)
      ? await withQueryMetrics("useApiKey", () => writeApiKeyUse(db, settings, { row, plan, now }))
      : [row];
    if (used === undefined) continue;
    if (plan.refusal !== undefined) throw plan.refusal;
    return toIdentity(used, permissions, configuration);
  }
  throw new ServiceUnavailableError("The API key is used by too many requests at once");
}

async function findKey(
  db: AuthDatabase,
  settings: ApiKeySettings,
  key: string,
): Promise<OwnedApiKeyRow> {
  const { configId } = settings;
  const [row] = await withQueryMetrics("findApiKey", () => findApiKey(db, settings, key));
  if (row === undefined) throw invalidKey("unknown");
  if (row.enabled === false) throw invalidKey("disabled");
  if (row.expiresAt !== null && Date.now() > row.expiresAt.getTime()) throw invalidKey("expired");
  const isExpected = configId === undefined || row.configId === configId ||
    (isDefaultConfig(row.configId) && isDefaultConfig(configId));
  if (!isExpected) throw invalidKey("wrong configuration");
  return row;
}

/** Refuses keys whose owner was deleted or is banned, which better-auth's plugin accepts. */
function checkOwner(
  { user, organization }: OwnedApiKeyRow,
  { references = "user" }: ApiKeyConfiguration,
  nowMs: number,
): void {
  const owner = references === "user" ? user : organization;
  if (owner === undefined || owner.id === null) throw invalidKey("unknown owner");
  if (references === "user" && isBanned(user!, nowMs)) throw invalidKey("banned user");
}

function parsePermissions(text: string | null): ApiKeyPermissions {
  const value = parseJsonOr(text ?? "", null);
  return typeof value === "object" && value !== null ? value as ApiKeyPermissions : {};
}

function checkPermissions(has: ApiKeyPermissions, needs: ApiKeyPermissions = {}): void {
  const isAllowed = Object.entries(needs).every(([resource, actions]) => {
    const allowed: unknown = Object.hasOwn(has, resource) ? has[resource] : undefined;
    return Array.isArray(allowed) && actions.every((action) => allowed.includes(action));
  });
  if (!isAllowed) throw new ForbiddenError("The API key may not do this");
}

function toIdentity(
  { id, configId, name, referenceId, remaining, expiresAt, metadata }: UsedKey,
  permissions: ApiKeyPermissions,
  { references = "user" }: ApiKeyConfiguration,
): ApiKeyIdentity {
  const parsed = parseJsonOr(metadata ?? "", null);
  return {
    userId: references === "user" ? referenceId : undefined,
    apiKey: {
      id,
      configId: configId || "default",
      name,
      referenceId,
      permissions,
      // older versions of the plugin stored JSON of JSON
      metadata: typeof parsed === "string" ? parseJsonOr(parsed, null) : parsed,
      remaining,
      expiresAt,
    },
  };
}

function refuse(reason: RefusalReason, message: string): UnauthorizedError {
  return refuseCredential(reason, message, { "WWW-Authenticate": "ApiKey" });
}

/** Uses one message for every reason, so that clients cannot find out which keys exist. */
function invalidKey(reason: RefusalReason): UnauthorizedError {
  return refuse(reason, "The API key is not valid");
}

/** Returns the SHA-256 of a key in base64url without padding, as better-auth's plugin stores it. */
export async function hashKey(key: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
  return encodeBase64Url(new Uint8Array(digest));
}
