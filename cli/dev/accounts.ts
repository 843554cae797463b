import { createHmac } from "node:crypto";
import { getLocalAccess, type LocalAuth } from "../../auth/accounts/local_access.ts";
import { NotFoundError } from "../../errors/http_errors.ts";
import { redactValue } from "../../observability/redact.ts";
import { mentionsAuth } from "../discovery/function_files.ts";
import type { FunctionStore } from "./functions/function_store.ts";

type Row = Readonly<Record<string, unknown>>;

/** Rows of a page. */
const PAGE = 25;
const MAX_LISTED = 100;
/** The key of the audit log in `AuthConfig.schema`. */
const EVENTS = "authEvent";

/**
 * Users, sessions and organizations of the project. It reads and writes through the project's auth
 * instance, with its tables and hooks; its methods throw `NotFoundError` if no function serves the
 * auth routes.
 */
export class LocalAccounts {
  readonly #store: FunctionStore;

  /** @param store The functions, which must include the auth routes. */
  constructor(store: FunctionStore) {
    this.#store = store;
  }

  /** Returns the configured origin of the auth routes; `undefined` without a configuration. */
  async findOrigin(): Promise<string | undefined> {
    try {
      const { settings } = await this.#open();
      return new URL(settings.baseURL).origin;
    } catch {
      return undefined; // the request shows what is wrong
    }
  }

  /**
   * Returns a page of the users, and what the configuration has besides: organizations, and the last
   * events of the audit log, newest first.
   */
  async list(offset: number): Promise<Row> {
    const auth = await this.#open();
    const { adapter, tables } = auth.library.context;
    const models = new Set(Object.keys(tables));
    const sortBy = { field: "createdAt", direction: "desc" } as const;
    const [users, userCount] = await Promise.all([
      adapter.findMany<Row>({ model: "user", limit: PAGE, offset, sortBy }),
      adapter.count({ model: "user" }),
    ]);
    return {
      users: users.map(toSafeRow),
      userCount,
      offset,
      ...models.has("organization") && { organizations: await listOrganizations(auth) },
      ...models.has(EVENTS) && {
        events: (await adapter.findMany<Row>({ model: EVENTS, limit: MAX_LISTED, sortBy })).map(
          toSafeRow,
        ),
      },
    };
  }

  /** Returns a user with their sessions and accounts. */
  async read(userId: string): Promise<Row> {
    const auth = await this.#open();
    const user = await findUser(auth, userId);
    const { adapter } = auth.library.context;
    const where = [{ field: "userId", value: userId }];
    const [sessions, accounts] = await Promise.all([
      adapter.findMany<Row>({ model: "session", where, limit: MAX_LISTED }),
      adapter.findMany<Row>({ model: "account", where, limit: MAX_LISTED }),
    ]);
    return {
      user: toSafeRow(user),
      sessions: sessions.map(toSafeRow),
      accounts: accounts.map(toSafeRow),
    };
  }

  /**
   * Creates a session of a user, without their password.
   *
   * @returns The token for `Authorization: Bearer` and the `Set-Cookie` header.
   */
  async signIn(userId: string): Promise<{ user: Row; token: string; cookie: string }> {
    const auth = await this.#open();
    const user = await findUser(auth, userId);
    const { token } = await auth.library.context.internalAdapter.createSession(userId, false, {
      userAgent: "trellis dev",
    });
    return { user: toSafeRow(user), token, cookie: renderCookie(auth, token) };
  }

  async #open(): Promise<LocalAuth> {
    for (const fn of this.#store.routes().filter(mentionsAuth)) {
      const access = getLocalAccess((await this.#store.load(fn)).handler);
      if (access !== undefined) return await access();
    }
    throw new NotFoundError("No function of the project is created by createAuthHandler");
  }
}

async function findUser({ library: { context } }: LocalAuth, id: string): Promise<Row> {
  const user = await context.internalAdapter.findUserById(id);
  if (user === null) throw new NotFoundError("The user does not exist");
  return user as Row;
}

async function listOrganizations({ library }: LocalAuth): Promise<Row[]> {
  const { adapter } = library.context;
  const organizations = await adapter.findMany<Row & { id: string }>({
    model: "organization",
    limit: PAGE,
  });
  const where = [{
    field: "organizationId",
    operator: "in" as const,
    value: organizations.map(({ id }) => id),
  }];
  const [members, invitations] = organizations.length === 0 ? [[], []] : await Promise.all([
    adapter.findMany<Row>({ model: "member", where, limit: MAX_LISTED }),
    adapter.findMany<Row>({ model: "invitation", where, limit: MAX_LISTED }),
  ]);
  const ofOrganization = (rows: readonly Row[], id: string) =>
    rows.filter(({ organizationId }) => organizationId === id).map(toSafeRow);
  return organizations.map((organization) => ({
    ...toSafeRow(organization),
    members: ofOrganization(members, organization.id),
    invitations: ofOrganization(invitations, organization.id),
  }));
}

/** Redacts credentials by the rules of the log, and shows dates as text. */
function toSafeRow(row: Row): Row {
  return redactValue(row) as Row;
}

/** Renders the session cookie as better-auth signs it. */
function renderCookie({ settings, library }: LocalAuth, token: string): string {
  const { name, attributes } = library.context.authCookies.sessionToken;
  const signature = createHmac("sha256", settings.secret).update(token).digest("base64");
  const { path = "/", sameSite = "lax" } = attributes;
  return [
    `${name}=${encodeURIComponent(`${token}.${signature}`)}`,
    `Max-Age=${settings.sessionExpiresIn}`,
    `Path=${path}`,
    "HttpOnly",
    attributes.secure && "Secure",
    `SameSite=${sameSite}`,
  ].filter(Boolean).join("; ");
}
