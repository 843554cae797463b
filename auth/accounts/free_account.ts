import type { GenericEndpointContext } from "better-auth";
import { decodeBase64 } from "../../core/http/base64.ts";
import { parseJsonOr } from "../../core/http/parse_json.ts";
import { getColumns, isTable } from "../../database/session/drizzle_table.ts";
import type { BetterAuthOptions } from "../better_auth/better_auth_types.ts";
import type { AuthSchema } from "../config/session_tables.ts";

/** A user whose address is proven now. */
export interface ProvenUser {
  readonly id: string;
  readonly email: string;
}

/** The part of better-auth's table definitions that is read here. */
interface TableDefinition {
  readonly modelName: string;
  readonly fields: Readonly<
    Record<
      string,
      {
        readonly type: unknown;
        readonly fieldName?: string;
        readonly references?: { readonly model: string };
      }
    >
  >;
}

type Tables = Readonly<Record<string, TableDefinition>>;

/** Drizzle's types of columns that can be compared with any id. */
const TEXT_TYPES: readonly string[] = [
  "PgText",
  "PgVarchar",
  "PgChar",
  "PgUUID",
  "PgCustomColumn",
];

/**
 * Models whose rows are removed in another way, or kept. A membership gives rights to the user, and
 * does not give access to the account: without it, an organization could lose its only owner.
 */
const OTHER_MODELS: readonly string[] = [
  "user",
  "session",
  "account",
  "verification",
  "rateLimit",
  "authEvent",
  "member",
  "teamMember",
];

/** Columns that plugins add to users for another way to sign in, without it. */
const USER_RESETS: Readonly<Record<string, unknown>> = {
  twoFactorEnabled: false,
  phoneNumber: null,
  phoneNumberVerified: false,
};

/** Plugins whose access is in the database or in better-auth's sessions only. */
const SAFE_PLUGINS: ReadonlySet<string> = /* @__PURE__ */ new Set([
  "admin",
  "anonymous",
  "api-key",
  "bearer",
  "captcha",
  "custom-session",
  "device-authorization",
  "email-otp",
  "generic-oauth",
  "have-i-been-pwned",
  "last-login-method",
  "magic-link",
  "multi-session",
  "oauth-popup",
  "oauth-proxy",
  "one-tap",
  "one-time-token",
  "open-api",
  "organization",
  "passkey",
  "phone-number",
  "siwe",
  "trellis-account-limits",
  "trellis-audit",
  "trellis-second-factor",
  "trellis-unproven-accounts",
  "two-factor",
  "username",
]);

/**
 * Checks that {@link freeAccount} removes every access to an account. A plugin with tokens that no
 * table lists, a plugin that is not known, and a second storage may keep one.
 */
export function canFreeAccounts({ plugins = [], secondaryStorage }: BetterAuthOptions): boolean {
  return secondaryStorage === undefined && plugins.every(({ id }) => SAFE_PLUGINS.has(id));
}

/**
 * Removes every access to an unverified account, before its address counts as proven: sessions,
 * passwords, linked accounts, all rows of plugins that refer to the user, pending verifications, and
 * the other ways to sign in. Links that change the address are refused by {@link isFromBeforeProof}.
 *
 * Rows are removed in batches, because their number has no limit. If one fails, the proof fails, and the next
 * proof removes the rest.
 *
 * @param context The endpoint's context.
 * @param user The user.
 * @param schema Drizzle's tables by model.
 * @param keepsPassword True if the owner has set the password already.
 */
export async function freeAccount(
  { context }: GenericEndpointContext,
  user: ProvenUser,
  schema: AuthSchema,
  keepsPassword = false,
): Promise<void> {
  const { adapter, internalAdapter } = context;
  const tables: Tables = context.tables;
  const owner = { field: "userId", value: user.id };
  await internalAdapter.deleteUserSessions(user.id);
  for (const [model, fields] of findUserFields(tables, schema, isUnique(user.id))) {
    const where = fields.map((field) => ({ field, value: user.id, connector: "OR" as const }));
    await removeRows(adapter, model, where);
  }
  const others = { field: "providerId", operator: "ne" as const, value: "credential" };
  await removeRows(adapter, "account", keepsPassword ? [owner, others] : [owner]);
  const mentioned = ["identifier", "value"].flatMap((field) =>
    [user.id, user.email].map((value) => ({
      field,
      value,
      operator: "contains" as const,
      connector: "OR" as const,
    }))
  );
  await removeRows(
    adapter,
    "verification",
    mentioned,
    ({ identifier, value }) => [identifier, value].some((text) => mentionsUser(String(text), user)),
  );
  const resets = Object.entries(USER_RESETS).filter(([name]) => name in tables.user.fields);
  if (resets.length > 0) await internalAdapter.updateUser(user.id, Object.fromEntries(resets));
  await noteProof(context, user.id);
}

type Adapter = GenericEndpointContext["context"]["adapter"];
type Where = NonNullable<Parameters<Adapter["findMany"]>[0]["where"]>;

/** Rows that one statement removes. A transaction of Aurora DSQL changes up to 3,000. */
const BATCH_SIZE = 500;

/** Removes rows in batches: those of a search that also fit, because a search by `LIKE` finds others too. */
async function removeRows(
  adapter: Adapter,
  model: string,
  where: Where,
  fits: (row: Readonly<Record<string, unknown>>) => boolean = () => true,
): Promise<void> {
  for (let after: Where = [];;) {
    const found = await adapter.findMany<{ id: string } & Record<string, unknown>>({
      model,
      where: [...where, ...after],
      limit: BATCH_SIZE,
      sortBy: { field: "id", direction: "asc" },
    });
    const value = found.filter(fits).map(({ id }) => id);
    if (value.length > 0) {
      await adapter.deleteMany({ model, where: [{ field: "id", operator: "in", value }] });
    }
    if (found.length < BATCH_SIZE) return;
    after = [{ field: "id", operator: "gt", value: found[BATCH_SIZE - 1].id }];
  }
}

/** Checks that an id is nothing else by chance. Other tables have the same numbers, with `generateId: "serial"`. */
function isUnique(id: string): boolean {
  return id.length >= 16;
}

/** Checks whether the text of a verification names a user. */
function mentionsUser(text: string, { id, email }: ProvenUser): boolean {
  if (isUnique(id) ? text.includes(id) : text === id || text.includes(JSON.stringify(id))) {
    return true;
  }
  for (let at = text.indexOf(email); at >= 0; at = text.indexOf(email, at + 1)) {
    // `ada@example.com` is neither `nada@example.com` nor `ada@example.com.au`
    const isWhole = !/[\w.+]$/.test(text.slice(0, at)) &&
      !/^[.-]?\w/.test(text.slice(at + email.length));
    if (isWhole) return true;
  }
  return false;
}

/** Names of texts that hold the id of a user or of another owner. */
const OWNER_FIELD = /^(?:user|owner|reference|inviter|creator)(?:Id)?$|By$/;

/**
 * Lists the columns that may hold a user's id, by model: references to users, and texts that refer
 * to nothing else. Tables that refer to another one come before it.
 *
 * @param isUnique False to list only texts with the name of an owner.
 */
function findUserFields(
  tables: Tables,
  schema: AuthSchema,
  isUnique: boolean,
): Map<string, string[]> {
  const found = new Map<string, string[]>();
  const visited = new Set<string>();
  const visit = (model: string): void => {
    if (visited.has(model)) return;
    visited.add(model);
    for (const [other, table] of Object.entries(tables)) {
      if (refersTo(table, tables[model])) visit(other);
    }
    const fields = Object.entries(tables[model].fields)
      .filter(([name, { type, references, fieldName = name }]) =>
        references === undefined
          ? type === "string" && isText(schema[model], fieldName) &&
            (isUnique || OWNER_FIELD.test(name))
          : references.model === tables.user.modelName
      )
      .map(([name]) => name);
    if (!OTHER_MODELS.includes(model) && fields.length > 0) found.set(model, fields);
  };
  // a table is listed after those that refer to it
  Object.keys(tables).forEach(visit);
  return found;
}

function isText(table: unknown, property: string): boolean {
  const type = isTable(table) ? getColumns(table)[property]?.columnType : undefined;
  return TEXT_TYPES.includes(type ?? "");
}

function refersTo(table: TableDefinition, { modelName }: TableDefinition): boolean {
  return Object.values(table.fields).some(({ references }) => references?.model === modelName);
}

const DEFAULT_LINK_SECONDS = 3600;

const getProofIdentifier = (userId: string) => `address-proven-${userId}`;

/** Notes the time of a proof for as long as a link from before could be valid. */
async function noteProof(
  { internalAdapter, options }: GenericEndpointContext["context"],
  userId: string,
): Promise<void> {
  const seconds = options.emailVerification?.expiresIn ?? DEFAULT_LINK_SECONDS;
  const nowMs = Date.now();
  await internalAdapter.createVerificationValue({
    identifier: getProofIdentifier(userId),
    value: String(nowMs),
    // a link from the same second counts as one from before
    expiresAt: new Date(nowMs + (seconds + 1) * 1000),
  });
}

/**
 * Checks for the token of a link that changes the address of an account and was issued before the
 * owner proved it. Such a token is signed, and no table lists it. The signature is not checked.
 */
export async function isFromBeforeProof(
  { context: { internalAdapter } }: GenericEndpointContext,
  token: string,
): Promise<boolean> {
  const { email, updateTo, iat } = readClaims(token);
  if (typeof email !== "string" || updateTo === undefined) return false;
  const found = await internalAdapter.findUserByEmail(email);
  const proof = found &&
    await internalAdapter.findVerificationValue(getProofIdentifier(found.user.id));
  return Boolean(proof) && !(Number(iat) > Math.floor(Number(proof?.value) / 1000));
}

function readClaims(token: string): Record<string, unknown> {
  const [, claims = ""] = token.split(".");
  return Object(parseJsonOr(new TextDecoder().decode(decodeBase64(claims))));
}
