import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import {
  AUTH_MIGRATION_SQL,
  type BetterAuthInstance,
  createAccountMails,
  createAuth,
  createAuthHandler,
} from "../../../auth/mod.ts";
import { RATE_LIMIT_MIGRATION_SQL } from "../../../database/rate_limits/migration.ts";
import { JOBS_MIGRATION_SQL } from "../../../jobs/mod.ts";
import { createHttpApiEvent, createLambdaContext } from "../../../testing/mod.ts";
import { getInternals } from "../../../auth/accounts/instance.ts";
import { SECRET } from "../auth_database.ts";
import { captureLogs } from "../../support/capture_logs.ts";

const BASE = "https://api.example.com";
/** The password of all users. */
export const PASSWORD = "correct horse battery";

/** A response of the auth routes. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly cookies: string;
  readonly location: string;
}

/** Accounts on a PostgreSQL server, whose routes run with separate roles. */
export interface RouteWorld {
  /** Operations that were observed, as `route table OPERATION`. */
  readonly observed: Set<string>;
  /** Link or code of the latest mail. */
  readonly links: string[];
  /** The profile that the provider returns. */
  profile: { id: string; email: string; emailVerified: boolean; name: string };
  /** Lists the paths of better-auth's routes. */
  listRoutes(): Promise<string[]>;
  query(text: string): Promise<Record<string, unknown>[]>;
  /** Sends a request with the role of a route. */
  send(route: string, path: string, body?: unknown, cookies?: string): Promise<Answer>;
  close(): Promise<void>;
}

/** Name of the role of a route. */
export function getRole(route: string): string {
  return `fn${route.replace(/\W+/g, "_")}`;
}

/** Opens the world in an empty database. */
export async function openRouteWorld(url: string): Promise<RouteWorld> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const tables = AUTH_MIGRATION_SQL + RATE_LIMIT_MIGRATION_SQL + JOBS_MIGRATION_SQL;
  for (const statement of tables.split("--> statement-breakpoint")) await sql.unsafe(statement);
  const observed = new Set<string>();
  const links: string[] = [];
  let current = "";
  const logQuery = (text: string) => {
    for (const operation of listOperations(text)) observed.add(`${current} ${operation}`);
  };
  const db = drizzle({ client: sql, logger: { logQuery } });
  const world: RouteWorld = {
    observed,
    links,
    profile: { id: "acme-1", email: "ada@example.com", emailVerified: true, name: "Ada" },
    async listRoutes(): Promise<string[]> {
      const { routes } = await getInternals(auth).start();
      return [...new Set(routes.map(({ path }) => path))];
    },
    query: (text) => sql.unsafe(text) as unknown as Promise<Record<string, unknown>[]>,
    async send(route, path, body, cookies = ""): Promise<Answer> {
      current = route;
      await sql.unsafe(`set role ${getRole(route)}`);
      try {
        const { result, lines } = await captureLogs(() => serve(path, body, cookies));
        const denied = lines.find((line) =>
          line.level !== undefined && /\b42501\b|permission denied/.test(JSON.stringify(line))
        );
        if (denied !== undefined) throw new Error(`${route} ${path}: ${JSON.stringify(denied)}`);
        if (result.status >= 500) {
          throw new Error(`${route} ${path}: ${JSON.stringify(lines)}`);
        }
        return result;
      } finally {
        await sql.unsafe("reset role");
      }
    },
    close: () => sql.end(),
  };
  const auth = createInstance(db as never, world);
  const handler = createAuthHandler(() => auth, { logging: { level: "WARN" } });

  async function serve(path: string, body: unknown, cookies: string): Promise<Answer> {
    const url = new URL(`${BASE}/api/auth${path}`);
    const event = createHttpApiEvent({
      method: body === undefined ? "GET" : "POST",
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: { origin: BASE, cookie: cookies },
      body,
    });
    const { statusCode, body: text, headers, cookies: set = [] } = await handler(
      event,
      createLambdaContext(),
    );
    return {
      status: statusCode,
      body: text,
      cookies: set.map((each) => each.split(";")[0]).join("; "),
      location: String(headers?.location ?? ""),
    };
  }
  return world;
}

function createInstance(db: never, world: RouteWorld): BetterAuthInstance {
  const mails = createAccountMails({ getDb: () => db, appName: "A" });
  const keep =
    <T extends { readonly url: string }>(send: (mail: T) => Promise<void>) => (mail: T) => {
      world.links.push(mail.url.slice(`${BASE}/api/auth`.length));
      return send(mail);
    };
  const addTo: typeof mails.addTo = (options) => {
    const added = mails.addTo(options);
    const { emailAndPassword, emailVerification, user } = added;
    return {
      ...added,
      emailAndPassword: {
        ...emailAndPassword!,
        sendResetPassword: keep(emailAndPassword!.sendResetPassword!),
      },
      emailVerification: {
        ...emailVerification,
        sendVerificationEmail: keep(emailVerification!.sendVerificationEmail!),
      },
      user: {
        ...user,
        changeEmail: {
          enabled: true,
          sendChangeEmailConfirmation: keep(user!.changeEmail!.sendChangeEmailConfirmation!),
        },
      },
    };
  };
  return createAuth(db, {
    secret: SECRET,
    baseURL: BASE,
    useSecureCookies: false,
    mail: { ...mails, addTo },
    rateLimit: { customRules: { "/**": false, "/*": false } },
    accountLimits: {
      failuresPerAddress: { limit: 1e6, windowSeconds: 60 },
      failures: { limit: 1e6, windowSeconds: 60 },
      messages: { limit: 1e6, windowSeconds: 60 },
    },
    emailAndPassword: {
      enabled: true,
      revokeSessionsOnPasswordReset: true,
      password: {
        hash: (password) => Promise.resolve(`#${password}`),
        verify: ({ hash, password }) => Promise.resolve(hash === `#${password}`),
      },
    },
    emailVerification: {
      sendOnSignUp: true,
      sendOnSignIn: true,
      autoSignInAfterVerification: true,
    },
    user: {
      changeEmail: { enabled: true },
      deleteUser: {
        enabled: true,
        sendDeleteAccountVerification: keep(mails.sendDeleteAccountVerification),
      },
    },
    socialProviders: {
      custom: [{
        providerId: "acme",
        clientId: "c",
        clientSecret: "s",
        options: {
          authorizationUrl: "https://acme.example/authorize",
          getToken: () =>
            Promise.resolve({
              accessToken: "t",
              refreshToken: "r",
              accessTokenExpiresAt: new Date(Date.now() - 1000),
            }),
          getUserInfo: () => Promise.resolve(world.profile),
        },
      }],
    },
  });
}

/** Lists the operations of a statement, as `table OPERATION`. */
function listOperations(text: string): string[] {
  const find = (pattern: RegExp, operation: string) =>
    [...text.matchAll(pattern)].map(([, table]) => `${table} ${operation}`);
  return [
    ...find(/(?<!delete )(?:from|join) "(\w+)"/gi, "SELECT"),
    ...find(/insert into "(\w+)"/gi, "INSERT"),
    ...find(/(?<!do )update "(\w+)"/gi, "UPDATE"),
    ...find(/delete from "(\w+)"/gi, "DELETE"),
  ];
}
