import { createAuth } from "../../auth/mod.ts";
import type { openAccountsDatabase } from "./accounts_database.ts";
import { ACCOUNTS_CONFIG, getPluginApi, type SignedIn, toSignedIn } from "./accounts_app.ts";
import type { Random } from "../support/random.ts";

/** Users with sessions, and organizations, which change by better-auth's own endpoints. */
export interface AccessWorld {
  readonly admin: SignedIn;
  readonly users: SignedIn[];
  readonly organizations: string[];
  /** Changes one thing. Returns what was changed. */
  change(): Promise<string>;
}

type Database = Awaited<ReturnType<typeof openAccountsDatabase>>;

const MEMBERSHIPS = ["owner", "admin", "member", "member,editor"] as const;

/**
 * Creates six users and three organizations.
 *
 * @param database The database.
 * @param random Decides the changes.
 */
export async function createAccessWorld(
  { pglite, db }: Database,
  random: Random,
): Promise<AccessWorld> {
  const auth = createAuth(db, ACCOUNTS_CONFIG);
  const api = getPluginApi(auth);

  /** Adds a user. A sign-up would take the time of a password's hash. */
  async function addUser(name: string, role: string): Promise<SignedIn> {
    const id = crypto.randomUUID();
    const token = crypto.randomUUID();
    await pglite.query(
      "INSERT INTO people (id, name, email, email_verified, role) VALUES ($1, $2, $3, true, $4)",
      [id, name, `${name}@example.com`, role],
    );
    await pglite.query(
      "INSERT INTO visits (token, user_id, expires_at) VALUES ($1, $2, now() + interval '30 days')",
      [token, id],
    );
    return toSignedIn(id, token);
  }

  const admin = await addUser("root", "admin");
  const users: SignedIn[] = [];
  for (let at = 0; at < 6; at++) users.push(await addUser(`user${at}`, "user"));
  const organizations: string[] = [];
  for (const slug of ["red", "green", "blue"]) {
    const body = { name: slug, slug };
    const { id } = await api.createOrganization({ body, headers: admin.headers });
    organizations.push(id as string);
  }

  async function renew(at: number): Promise<void> {
    const token = crypto.randomUUID().replaceAll("-", "");
    const { id } = users[at];
    await pglite.query(
      `INSERT INTO visits (token, user_id, expires_at, active_organization_id)
      VALUES ($1, $2, now() + interval '29 days 23 hours', $3)`,
      [token, id, random.pick([null, ...organizations])],
    );
    users[at] = toSignedIn(id, token);
  }

  const { headers } = admin;
  const changes: Record<string, (user: SignedIn, at: number) => Promise<unknown>> = {
    signsIn: (_, at) => renew(at),
    joins: ({ id: userId }) =>
      api.addMember({
        body: {
          userId,
          organizationId: random.pick(organizations),
          role: random.pick(MEMBERSHIPS),
        },
      }),
    leaves: ({ id }) => pglite.query("DELETE FROM members WHERE user_id = $1", [id]),
    isRemoved: async ({ id }) => {
      const { rows } = await pglite.query<{ id: string; organization_id: string }>(
        "SELECT id, organization_id FROM members WHERE user_id = $1 LIMIT 1",
        [id],
      );
      if (rows.length === 0) return;
      await api.removeMember({
        body: { memberIdOrEmail: rows[0].id, organizationId: rows[0].organization_id },
        headers,
      });
    },
    switchesOrganization: (user) =>
      api.setActiveOrganization({
        body: { organizationId: random.pick([null, ...organizations]) },
        headers: user.headers,
      }),
    hasForeignOrganization: ({ id }) =>
      pglite.query("UPDATE visits SET active_organization_id = $1 WHERE user_id = $2", [
        random.pick(organizations),
        id,
      ]),
    getsRole: ({ id: userId }) =>
      api.setRole({
        body: { userId, role: random.pick(["user", "admin", ["user", "admin"]]) },
        headers,
      }),
    isBanned: ({ id: userId }) => api.banUser({ body: { userId }, headers }),
    isUnbanned: ({ id: userId }) => api.unbanUser({ body: { userId }, headers }),
    signsOut: (user) => api.signOut({ headers: user.headers }),
    expires: ({ id }) =>
      pglite.query("UPDATE visits SET expires_at = now() WHERE user_id = $1", [id]),
    getsOld: ({ id }) =>
      pglite.query("UPDATE visits SET created_at = now() - interval '1 hour' WHERE user_id = $1", [
        id,
      ]),
  };
  for (let at = 0; at < users.length; at++) await renew(at);

  return {
    admin,
    users,
    organizations,
    async change(): Promise<string> {
      const at = random.below(users.length);
      const name = random.pick([
        ...Object.keys(changes),
        "signsIn",
        "joins",
        "isUnbanned",
        "getsOld",
      ]);
      // better-auth refuses some changes, such as a second membership
      await changes[name](users[at], at).catch(() => undefined);
      return `user ${at} ${name}`;
    },
  };
}
