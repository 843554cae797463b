import type { Random } from "../../support/random.ts";
import { PASSWORD, type RouteWorld } from "./route_world.ts";

const EMAILS = ["ada@example.com", "bob@example.com", "eve@example.com"];

type Step = (walk: Walk) => Promise<unknown>;

/** A walk through the routes: users in random states send random requests. */
interface Walk {
  readonly world: RouteWorld;
  readonly pick: <T>(values: readonly T[]) => T;
  /** Cookies of sessions, some of which have ended. */
  readonly cookies: string[];
  /** Providers' sign-ins that have begun: their state, and the cookies of the browser. */
  readonly states: { readonly state: string; readonly cookies: string }[];
}

/** Sends a request and keeps the session that it begins. */
async function send(
  walk: Walk,
  route: string,
  {
    path = route,
    body,
    cookies = walk.pick(["", ...walk.cookies.slice(-3), ...walk.cookies.slice(-1)]),
  }: {
    path?: string;
    body?: unknown;
    cookies?: string;
  } = {},
) {
  const answer = await walk.world.send(route, path, body, cookies);
  if (/session_token=[^;]/.test(answer.cookies)) walk.cookies.push(answer.cookies);
  return answer;
}

const email = ({ pick }: Walk) => pick(EMAILS);
const password = ({ pick }: Walk) => pick([PASSWORD, PASSWORD, PASSWORD, "wrong password"]);

async function begin(walk: Walk, route: string): Promise<void> {
  const cookies = route === "/link-social" ? walk.cookies.at(-1) ?? "" : "";
  const { status, body, cookies: set } = await send(walk, route, {
    body: { provider: "acme", callbackURL: "/home", errorCallbackURL: "/failed" },
    cookies,
  });
  if (status !== 200) return;
  const state = new URL(JSON.parse(body).url).searchParams.get("state")!;
  walk.states.push({ state, cookies: [cookies, set].filter(Boolean).join("; ") });
}

async function finish(walk: Walk): Promise<void> {
  const started = walk.states.pop();
  const { world, pick } = walk;
  world.profile = {
    id: pick(["acme-1", "acme-2", "acme-3"]),
    email: pick([...EMAILS, "new@example.com"]),
    emailVerified: pick([true, true, false]),
    name: "Someone",
  };
  const state = started?.state ?? "unknown";
  const path = `/callback/acme?code=1&state=${state}`;
  await send(walk, "/callback/:id", { path, cookies: started?.cookies ?? "" });
}

/** Follows the link of a mail, old or new. */
async function follow(walk: Walk): Promise<void> {
  const { world, pick, cookies } = walk;
  const link = pick([...world.links.slice(-3), "/verify-email?token=x"]);
  const session = { cookies: pick([...cookies.slice(-2), ""]) };
  if (link.startsWith("/verify-email")) {
    await send(walk, "/verify-email", { path: link, ...session });
  } else if (link.startsWith("/delete-user")) {
    await send(walk, "/delete-user/callback", { path: link, ...session });
  } else {
    const path = link.replace(/callbackURL=$/, "callbackURL=%2Freset");
    await send(walk, "/reset-password/:token", { path, ...session });
    const token = /reset-password\/(\w+)/.exec(link)![1];
    await send(walk, "/reset-password", { body: { token, newPassword: PASSWORD } });
  }
}

async function pickAccount(walk: Walk): Promise<Record<string, unknown>> {
  const rows = await walk.world.query(
    `select a.id, a.provider_id from accounts a join sessions s on s.user_id = a.user_id
      order by s.created_at desc, a.id limit 2`,
  );
  return rows.length === 0 ? {} : walk.pick(rows);
}

/** Requests and changes of the world; those that come first in a real life are repeated. */
export const STEPS: Readonly<Record<string, Step>> = {
  signUp: (w) =>
    send(w, "/sign-up/email", { body: { name: "N", email: email(w), password: PASSWORD } }),
  signIn: (w) => send(w, "/sign-in/email", { body: { email: email(w), password: password(w) } }),
  signUpAgain: (w) =>
    send(w, "/sign-up/email", { body: { name: "N", email: email(w), password: PASSWORD } }),
  signInAgain: (w) =>
    send(w, "/sign-in/email", { body: { email: email(w), password: PASSWORD, rememberMe: false } }),
  social: (w) => begin(w, "/sign-in/social"),
  link: (w) => begin(w, "/link-social"),
  callback: finish,
  callbackAgain: finish,
  session: (w) => send(w, "/get-session"),
  signOut: (w) => send(w, "/sign-out", { body: {} }),
  verifyPassword: (w) => send(w, "/verify-password", { body: { password: password(w) } }),
  // better-auth waits for half a second in each
  sendVerification: async (w) => {
    if (w.pick([false, false, false, true])) {
      await send(w, "/send-verification-email", { body: { email: email(w) } });
    }
  },
  changeEmail: (w) =>
    send(w, "/change-email", { body: { newEmail: w.pick([...EMAILS, "new@example.com"]) } }),
  changePassword: (w) =>
    send(w, "/change-password", {
      body: {
        newPassword: PASSWORD,
        currentPassword: password(w),
        revokeOtherSessions: w.pick([true, false]),
      },
    }),
  updateSession: (w) => send(w, "/update-session", { body: { device: "x" } }),
  updateUser: (w) => send(w, "/update-user", { body: { name: "New" } }),
  deleteUser: (w) =>
    send(w, "/delete-user", { body: w.pick<unknown>([{}, {}, { password: PASSWORD }]) }),
  requestReset: (w) => send(w, "/request-password-reset", { body: { email: email(w) } }),
  follow,
  followAgain: follow,
  listSessions: (w) => send(w, "/list-sessions"),
  async revoke(w) {
    const rows = await w.world.query("select token from sessions");
    const token = rows.length === 0 ? "x" : w.pick(rows).token;
    await send(w, "/revoke-session", { body: { token } });
  },
  revokeAll: (w) => send(w, "/revoke-sessions", { body: {} }),
  revokeOthers: (w) => send(w, "/revoke-other-sessions", { body: {} }),
  listAccounts: (w) => send(w, "/list-accounts"),
  async unlink(w) {
    const { id = "x" } = await pickAccount(w);
    const body = { accountId: id };
    await send(w, "/unlink-account", { body });
  },
  async refreshToken(w) {
    const { id } = await pickAccount(w);
    const body = { accountId: id };
    await send(w, "/refresh-token", { body });
  },
  async accessToken(w) {
    const { id } = await pickAccount(w);
    const body = { accountId: id };
    await send(w, "/get-access-token", { body });
  },
  async accountInfo(w) {
    const { id = "x" } = await pickAccount(w);
    await send(w, "/account-info", { path: `/account-info?accountId=${id}` });
  },
  ok: (w) => send(w, "/ok"),
  error: (w) => send(w, "/error"),
  ageSessions: (w) =>
    w.world.query(w.pick([
      "update sessions set updated_at = now() - interval '2 days', expires_at = now() + interval '28 days'",
      "update sessions set expires_at = now() - interval '1 hour' where random() < 0.2",
      "update sessions set created_at = now() - interval '5 days' where random() < 0.5",
    ])),
  ageVerifications: (w) =>
    w.world.query(
      "update verification set expires_at = now() - interval '1 hour' where random() < 0.1",
    ),
  toggle: (w) =>
    w.world.query("update users set email_verified = not email_verified where random() < 0.3"),
};

/**
 * Walks through the routes.
 *
 * @param world The world.
 * @param random Source of randomness.
 * @param count Number of steps.
 */
export async function walkRoutes(world: RouteWorld, random: Random, count: number): Promise<void> {
  const { pick } = random;
  const walk: Walk = { world, pick, cookies: [], states: [] };
  const steps = Object.values(STEPS);
  for (let step = 0; step < count; step++) {
    await pick(steps)(walk);
    // keeps sessions that are likely to be alive
    if (walk.cookies.length > 3) walk.cookies.shift();
    if (step % 60 === 59) await world.query("delete from users where random() < 0.3");
  }
}
