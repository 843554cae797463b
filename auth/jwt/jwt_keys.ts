import type { JWTVerifyGetKey } from "jose";
import { loadOnce } from "../../core/async/single_flight.ts";
import { limitRequest } from "../../env/limit_request.ts";
import { explainMissing } from "../../env/optional_package.ts";
import { ServiceUnavailableError } from "../../errors/http_errors.ts";
import { logWarn } from "../../observability/logger.ts";
import type { JwtAuthOptions } from "./jwt_options.ts";
import { AUTH_PACKAGES } from "../better_auth/optional_packages.ts";

/** The package that checks signatures. */
export type Jose = typeof import("jose");

/** jose with the keys of an issuer. */
export interface JwtKeys {
  readonly jose: Jose;
  /** Finds the key of a token, and requests the keys again if it is unknown. */
  readonly getKey: JWTVerifyGetKey;
}

const TIMEOUT_MS = 5000;
/** A clock that is set back by less is not worth a request. */
const STEP_MS = 1000;

/**
 * Creates a function that loads jose and the keys of an issuer on its first call. The keys stay in
 * memory between invocations. A failure is not cached.
 *
 * @param options The checked options.
 * @returns The function.
 */
export function createKeyLoader(
  options: JwtAuthOptions<unknown>,
): () => Promise<JwtKeys> {
  const { cooldownSeconds = 30, cacheSeconds = 600 } = options;

  async function load(): Promise<JwtKeys> {
    const jose = await loadJose();
    const url = options.jwksUrl ?? await discover(options.issuer);
    const createSet = () =>
      jose.createRemoteJWKSet(new URL(url), {
        timeoutDuration: TIMEOUT_MS,
        cooldownDuration: cooldownSeconds * 1000,
        cacheMaxAge: cacheSeconds * 1000,
      });
    let keys = createSet();
    let latestMs = Date.now();
    function getKey(...args: Parameters<JWTVerifyGetKey>): ReturnType<JWTVerifyGetKey> {
      const nowMs = Date.now();
      // jose compares times of this clock: until it has caught up, keys would not become old
      if (nowMs < latestMs - STEP_MS) keys = createSet();
      latestMs = nowMs;
      return keys(...args);
    }
    return { jose, getKey };
  }

  return loadOnce(load);
}

async function loadJose(): Promise<Jose> {
  try {
    return await import("jose");
  } catch (error) {
    return explainMissing(AUTH_PACKAGES, "jose", "auth 'jwt'")(error);
  }
}

/** Reads the address of the keys (OpenID Connect Discovery 1.0, section 4). */
async function discover(issuer: string): Promise<string> {
  const address = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  try {
    const document = await limitRequest(
      { service: address, limitMs: TIMEOUT_MS },
      (signal) => readDocument(address, signal),
    );
    if (document.issuer !== issuer || typeof document.jwks_uri !== "string") {
      throw new Error(`${address} is not the document of the issuer`);
    }
    const { protocol } = new URL(document.jwks_uri);
    if (protocol !== "https:" && new URL(issuer).protocol === "https:") {
      throw new Error(`${address} has keys without https`);
    }
    return document.jwks_uri;
  } catch (cause) {
    throw keysUnavailable(cause);
  }
}

async function readDocument(
  address: string,
  signal: AbortSignal,
): Promise<{ issuer?: unknown; jwks_uri?: unknown }> {
  const response = await fetch(address, { redirect: "error", signal });
  if (!response.ok) throw new Error(`${address} answered ${response.status}`);
  return await response.json();
}

/**
 * Returns the error for keys that cannot be loaded: the token may be good, so it is not a 401.
 *
 * @param cause What failed.
 */
export function keysUnavailable(cause: unknown): ServiceUnavailableError {
  logWarn("The keys of the token issuer cannot be loaded", { error: cause });
  return new ServiceUnavailableError("The keys of the token issuer cannot be loaded", { cause });
}
