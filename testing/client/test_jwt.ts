import { encodeBase64Url } from "../../core/http/base64.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { TestJwt } from "../test_client.ts";

/** Keys stay the same in a process, because functions cache those of an issuer. */
let keys: Promise<CryptoKeyPair> | undefined;
const ALGORITHM = { name: "ECDSA", namedCurve: "P-256" } as const;
const KEY_ID = "test";
const LIFETIME_SECONDS = 3600;

/** Signs tokens, and answers requests for the keys of their issuers. */
export interface TestIssuer {
  /** Signs a token. */
  createJwt(
    claims: Readonly<Record<string, unknown>> & { readonly iss: string },
    options?: { readonly jwksUrl?: string },
  ): Promise<TestJwt>;
  /** Sends requests for keys to their issuers again. */
  restore(): void;
}

/** Replaces `fetch` for the addresses of issuers of tokens. */
export function installTestIssuer(): TestIssuer {
  const realFetch = globalThis.fetch;
  /** Answers by address. */
  const documents = new Map<string, unknown>();

  globalThis.fetch = function fetchKeys(input, init): Promise<Response> {
    const address = input instanceof Request ? input.url : String(input);
    const document = documents.get(address);
    return document === undefined
      ? realFetch(input, init)
      : Promise.resolve(Response.json(document));
  };

  async function publish(issuer: string, jwksUrl: string): Promise<void> {
    const { publicKey } = await getKeys();
    const key = await crypto.subtle.exportKey("jwk", publicKey);
    documents.set(new URL(jwksUrl).href, {
      keys: [{ ...key, kid: KEY_ID, alg: "ES256", use: "sig" }],
    });
    const base = issuer.replace(/\/$/, "");
    documents.set(`${base}/.well-known/openid-configuration`, { issuer, jwks_uri: jwksUrl });
  }

  return {
    async createJwt(claims, { jwksUrl } = {}): Promise<TestJwt> {
      const { iss } = claims;
      if (!URL.canParse(iss)) {
        throw new ConfigurationError(
          `createJwt() needs the claim iss with the issuer's address, got ${JSON.stringify(iss)}`,
        );
      }
      await publish(iss, jwksUrl ?? new URL("/test-keys", iss).href);
      const token = await sign(claims);
      return { token, headers: { Authorization: `Bearer ${token}` } };
    },
    restore(): void {
      globalThis.fetch = realFetch;
    },
  };
}

function getKeys(): Promise<CryptoKeyPair> {
  return keys ??= crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
}

async function sign(claims: Readonly<Record<string, unknown>>): Promise<string> {
  const { privateKey } = await getKeys();
  const iat = Math.floor(Date.now() / 1000);
  const parts = [
    { alg: "ES256", typ: "JWT", kid: KEY_ID },
    { iat, exp: iat + LIFETIME_SECONDS, ...claims },
  ];
  const text = parts.map((part) => encodeBase64Url(encode(JSON.stringify(part)))).join(".");
  const signing = { name: "ECDSA", hash: "SHA-256" };
  const signature = await crypto.subtle.sign(signing, privateKey, encode(text));
  return `${text}.${encodeBase64Url(new Uint8Array(signature))}`;
}

function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
