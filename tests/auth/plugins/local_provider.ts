import { Buffer } from "node:buffer";

/** An OpenID Connect provider on the loopback interface that signs everybody in. */
export interface LocalProvider extends AsyncDisposable {
  readonly issuer: string;
  /** The claims of the next user. */
  claims: Record<string, unknown>;
}

function encode(value: unknown): string {
  const bytes = typeof value === "string" || value instanceof Uint8Array
    ? value
    : JSON.stringify(value);
  return Buffer.from(bytes as string).toString("base64url");
}

/** Starts the provider: discovery, authorization, tokens, keys and user info. */
export async function startLocalProvider(): Promise<LocalProvider> {
  const keys = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, [
    "sign",
    "verify",
  ]);
  const jwk = { ...await crypto.subtle.exportKey("jwk", keys.publicKey), kid: "k1", alg: "ES256" };
  const nonces = new Map<string, string | null>();
  let issuer = "";
  const provider: LocalProvider = {
    get issuer() {
      return issuer;
    },
    claims: {},
    [Symbol.asyncDispose]: () => server.shutdown(),
  };

  async function sign(claims: Record<string, unknown>): Promise<string> {
    const input = `${encode({ alg: "ES256", kid: "k1", typ: "JWT" })}.${encode(claims)}`;
    const signature = await crypto.subtle.sign(
      { name: "ECDSA", hash: "SHA-256" },
      keys.privateKey,
      new TextEncoder().encode(input),
    );
    return `${input}.${encode(new Uint8Array(signature))}`;
  }

  async function serve(request: Request): Promise<Response> {
    const url = new URL(request.url);
    switch (url.pathname) {
      case "/.well-known/openid-configuration":
        return Response.json({
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          userinfo_endpoint: `${issuer}/userinfo`,
          jwks_uri: `${issuer}/jwks`,
          response_types_supported: ["code"],
          subject_types_supported: ["public"],
          id_token_signing_alg_values_supported: ["ES256"],
          token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post"],
          scopes_supported: ["openid", "email", "profile"],
        });
      case "/authorize": {
        const code = crypto.randomUUID();
        nonces.set(code, url.searchParams.get("nonce"));
        const target = new URL(url.searchParams.get("redirect_uri")!);
        target.searchParams.set("code", code);
        target.searchParams.set("state", url.searchParams.get("state") ?? "");
        return Response.redirect(target, 302);
      }
      case "/token": {
        const form = new URLSearchParams(await request.text());
        const basic = /^Basic (.+)$/.exec(request.headers.get("authorization") ?? "")?.[1];
        const clientId = form.get("client_id") ?? atob(basic ?? "").split(":")[0];
        const now = Math.floor(Date.now() / 1000);
        const nonce = nonces.get(form.get("code") ?? "");
        return Response.json({
          access_token: `access-${crypto.randomUUID()}`,
          token_type: "Bearer",
          expires_in: 3600,
          id_token: await sign({
            iss: issuer,
            aud: clientId,
            iat: now,
            exp: now + 3600,
            ...(nonce ? { nonce } : {}),
            ...provider.claims,
          }),
        });
      }
      case "/userinfo":
        return Response.json(provider.claims);
      case "/jwks":
        return Response.json({ keys: [jwk] });
      case "/captcha":
        return Response.json({
          success: (await request.text()).includes("good-captcha"),
        });
      default:
        return new Response(null, { status: 404 });
    }
  }

  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, serve);
  issuer = `http://localhost:${server.addr.port}`;
  return provider;
}
