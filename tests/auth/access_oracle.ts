import type { JWK } from "jose";
import { createPublicKey, type JsonWebKeyInput, type KeyObject, verify } from "node:crypto";
import type { BetterAuthInstance } from "../../auth/mod.ts";
import { getPluginApi, ORIGIN } from "./accounts_app.ts";

/** What better-auth says about a request. */
export interface Verdict {
  /** Id of the user with a session; `undefined` without one. */
  readonly userId?: string;
  readonly isFresh: boolean;
  readonly isAdmin: boolean;
  /** The active organization and the role in it. */
  readonly member?: { organizationId: string; role: string };
}

const REFUSED: Verdict = { isFresh: false, isAdmin: false };

type RequestHeaders = Readonly<Record<string, string>>;

/** Returns the remembered answer for a key, or asks. */
export type Remember = <T>(key: string, ask: () => Promise<T>) => Promise<T>;

/**
 * Asks better-auth's own endpoints about the credential of a request. Its other endpoints read the
 * same session as `getSession`, so they are asked once for each session while nothing changes.
 */
export async function askBetterAuth(
  auth: BetterAuthInstance,
  given: RequestHeaders,
  remember: Remember,
): Promise<Verdict> {
  const headers = new Headers(given);
  const found = await auth.api.getSession({ headers });
  if (found === null) return REFUSED;
  return await remember(
    `session of ${found.session.token}`,
    () => describeSession(auth, headers, found.user.id),
  );
}

async function describeSession(
  auth: BetterAuthInstance,
  headers: Headers,
  userId: string,
): Promise<Verdict> {
  const api = getPluginApi(auth);
  const permission = await api.userHasPermission({
    body: { userId, permissions: { user: ["ban"] } },
  });
  const member = await api.getActiveMember({ headers }).catch(() => undefined);
  const isFresh = await auth.api.listSessions({ headers }).then(() => true, () => false);
  return {
    userId,
    isFresh,
    isAdmin: permission.success === true,
    member: member as Verdict["member"],
  };
}

/** Asks a route of better-auth whether it admits the origin of a request with cookies. */
export async function askOrigin(auth: BetterAuthInstance, given: RequestHeaders): Promise<boolean> {
  // an intended difference: no browser sends a bearer token by itself
  if ("authorization" in given) return true;
  // another one: browsers say that a request comes from the same origin
  if (given.origin === undefined && given["sec-fetch-site"] === "same-origin") return true;
  const response = await auth.handler(
    new Request(`${ORIGIN}/api/auth/update-user`, {
      method: "POST",
      headers: { ...given, "content-type": "application/json" },
      body: JSON.stringify({ image: "https://example.com/x.png" }),
    }),
  );
  await response.body?.cancel();
  return response.status !== 403;
}

/** Verifies a token without jose: signature by Node's crypto, claims by hand. */
export function isGoodToken(
  token: string,
  keys: ReadonlyMap<string, KeyObject>,
  { issuer, audience }: { issuer: string; audience: string },
): boolean {
  const [header, payload, signature, ...rest] = token.split(".");
  if (signature === undefined || rest.length > 0) return false;
  const decode = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString());
  const { alg, kid } = decode(header);
  const key = keys.get(kid);
  if (alg !== "ES256" || key === undefined) return false;
  const { iss, aud, sub, exp, nbf } = decode(payload);
  const now = Date.now() / 1000;
  return iss === issuer && [aud].flat().includes(audience) && typeof sub === "string" &&
    sub !== "" &&
    exp > now && !(nbf > now) && verify(
      "sha256",
      Buffer.from(`${header}.${payload}`),
      { key, dsaEncoding: "ieee-p1363" },
      Buffer.from(signature, "base64url"),
    );
}

/** Reads public keys. */
export function readKeys(keys: readonly JWK[]): Map<string, KeyObject> {
  return new Map(
    keys.map((
      key,
    ) => [String(key.kid), createPublicKey({ key, format: "jwk" } as JsonWebKeyInput)]),
  );
}
