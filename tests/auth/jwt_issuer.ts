import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose";

/** A token issuer on this machine, for one test file. */
export interface TestIssuer {
  /** The issuer's name and the address of its documents. */
  readonly issuer: string;
  /** Requests for the keys. */
  readonly requests: string[];
  /** The published keys. */
  keys: JWK[];
  /** The status of its responses. */
  status: number;
  /** Adds a key pair. */
  addKey(alg: string, kid: string): Promise<void>;
  /** Signs claims; `header` replaces parts of the header. */
  sign(kid: string, claims: JWTPayload, header?: Record<string, unknown>): Promise<string>;
  /** Stops the server. */
  close(): Promise<void>;
}

/** Starts an issuer with the OpenID Connect document and a key set. */
export function startIssuer(): TestIssuer {
  const pairs = new Map<string, { alg: string; privateKey: CryptoKey }>();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    function serveDocuments(request) {
      const { pathname } = new URL(request.url);
      issuer.requests.push(pathname);
      if (issuer.status !== 200) return new Response("down", { status: issuer.status });
      if (pathname === "/.well-known/openid-configuration") {
        return Response.json({ issuer: issuer.issuer, jwks_uri: `${issuer.issuer}/keys` });
      }
      return pathname === "/keys"
        ? Response.json({ keys: issuer.keys })
        : new Response("", { status: 404 });
    },
  );
  const issuer: TestIssuer = {
    issuer: `http://127.0.0.1:${server.addr.port}`,
    requests: [],
    keys: [],
    status: 200,
    async addKey(alg, kid) {
      const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
      pairs.set(kid, { alg, privateKey });
      issuer.keys.push({ ...await exportJWK(publicKey), kid, alg, use: "sig" });
    },
    async sign(kid, claims, header = {}) {
      const { alg, privateKey } = pairs.get(kid)!;
      return await new SignJWT(claims).setProtectedHeader({ alg, kid, ...header }).sign(privateKey);
    },
    close: () => server.shutdown(),
  };
  return issuer;
}
