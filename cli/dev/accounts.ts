import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { getLocalAccess, type LocalAuth } from "../../auth/local_access.ts";
import { NotFoundError } from "../../errors/http_errors.ts";
import { redactValue } from "../../observability/redact.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import type { FunctionStore } from "./function_store.ts";

type Row = Readonly<Record<string, unknown>>;

/** A page of the users, with what the configuration has besides. */
export interface AccountsView {
  readonly users: readonly Row[];
  readonly userCount: number;
  readonly offset: number;
  /** Omitted without the plugin. */
  readonly organizations?: readonly Row[];
  /** The last events of the audit log, newest first; omitted without it. */
  readonly events?: readonly Row[];
}

/** A user with their sessions and accounts. */
export interface AccountDetails {
  readonly user: Row;
  readonly sessions: readonly Row[];
  readonly accounts: readonly Row[];
}

/** A session for the page. */
export interface LocalSignIn {
  readonly user: Row;
  /** The token for `Authorization: Bearer`. */
  readonly token: string;
  /** The `Set-Cookie` header. */
  readonly cookie: string;
}

/** Users, sessions and organizations of the project. */
export interface LocalAccounts {
  /** Returns the origin of the auth routes, as they are configured; `undefined` without them. */
  findOrigin(): Promise<string | undefined>;
  list(offset: number): Promise<AccountsView>;
  read(userId: string): Promise<AccountDetails>;
  /** Creates a session of a user, without their password. */
  signIn(userId: string): Promise<LocalSignIn>;
}

/** Rows of a page. */
const PAGE = 25;
const MAX_LISTED = 100;
/** The key of the audit log in `AuthConfig.schema`. */
const EVENTS = "authEvent";

/**
 * Creates the view of the accounts. It reads and writes through the project's auth instance, with
 * its tables and hooks.
 *
 * @param store The functions, which must include the auth routes.
 * @returns The view. Its functions throw `NotFoundError` if no function serves the auth routes.
 */
export function createLocalAccounts(store: FunctionStore): LocalAccounts {
  async function open(): Promise<LocalAuth> {
    for (const fn of store.routes().filter(mentionsAuth)) {
      const access = getLocalAccess((await store.load(fn)).handler);
      if (access !== undefined) return await access();
    }
    throw new NotFoundError("No function of the project is created by createAuthHandler");
  }

  async function findUser({ library: { context } }: LocalAuth, id: string): Promise<Row> {
    const user = await context.internalAdapter.findUserById(id);
    if (user === null) throw new NotFoundError("The user does not exist");
    return user as unknown as Row;
  }

  return {
    async findOrigin(): Promise<string | undefined> {
      try {
        const { settings } = await open();
        return new URL(settings.baseURL).origin;
      } catch {
        return undefined; // the request shows what is wrong
      }
    },

    async list(offset): Promise<AccountsView> {
      const auth = await open();
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
    },

    async read(userId): Promise<AccountDetails> {
      const auth = await open();
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
    },

    async signIn(userId): Promise<LocalSignIn> {
      const auth = await open();
      const user = await findUser(auth, userId);
      const { context } = auth.library;
      const session = await context.internalAdapter.createSession(userId, false, {
        userAgent: "trellis dev",
      });
      return {
        user: toSafeRow(user),
        token: session.token,
        cookie: renderCookie(auth, session.token),
      };
    },
  };
}

function mentionsAuth({ file }: FunctionFile): boolean {
  try {
    return /auth/i.test(readFileSync(file, "utf8"));
  } catch {
    return false;
  }
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
