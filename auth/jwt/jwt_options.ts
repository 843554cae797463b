import {
  checkOption,
  checkOptions,
  OBJECT_OPTION,
  type OptionRule,
  type OptionRules,
  protective,
} from "../../core/option_rules.ts";
import { wholeNumber } from "../../core/function_options.ts";
import type { JwtClaims } from "../../core/http/auth_registry.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { Schema } from "../../validation/schema.ts";
import { parseUrl } from "../../core/http/parse_url.ts";

/** Signature algorithms with a public key (RFC 7518, RFC 8037). */
export const JWT_ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
] as const;

/** An algorithm of {@link JWT_ALGORITHMS}. */
export type JwtAlgorithm = typeof JWT_ALGORITHMS[number];

/** Options of the functions that check JSON Web Tokens. */
export interface JwtClaimOptions<TClaims = JwtClaims> {
  /** The value of the claim `iss`, such as `https://login.example.com/`. It is compared exactly. */
  issuer: string;
  /** The value or values of which the claim `aud` must contain at least one. */
  audience: string | readonly string[];
  /**
   * Claim with the user's id.
   * @default "sub"
   */
  userIdClaim?: string;
  /** Validates the claims and gives `claims` in handlers its type. */
  claims?: Schema<TClaims>;
}

/** Options of {@link createJwtAuth} and of `jwt()` of `defineAuth`. */
export interface JwtAuthOptions<TClaims = JwtClaims> extends JwtClaimOptions<TClaims> {
  /**
   * Address of the issuer's public keys.
   * @default `jwks_uri` of the document `<issuer>/.well-known/openid-configuration`
   */
  jwksUrl?: string;
  /**
   * Accepted algorithms.
   * @default all algorithms with a public key
   */
  algorithms?: readonly JwtAlgorithm[];
  /**
   * Tolerated difference of the clocks in seconds, at most 300.
   * @default 0
   */
  clockToleranceSeconds?: number;
  /** Longest accepted time since the claim `iat`, in seconds. */
  maxTokenAgeSeconds?: number;
  /** Claims that must be present, besides `iss`, `aud`, `exp` and the user's id. */
  requiredClaims?: readonly string[];
  /** Value of the header `typ`, such as `at+jwt` for access tokens (RFC 9068). */
  typ?: string;
  /**
   * Seconds between two requests for the keys. Within this time, tokens with an unknown key are refused.
   * @default 30
   */
  cooldownSeconds?: number;
  /**
   * Seconds after which the keys are requested again.
   * @default 600
   */
  cacheSeconds?: number;
}

const isText = (value: unknown): boolean => typeof value === "string" && value.trim() !== "";
const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every(isText);
const TEXT: OptionRule = [isText, "a string that is not empty"];

/** The rules of the options that all checks have. */
export const CLAIM_RULES = {
  issuer: TEXT,
  audience: [
    (value) => isText(value) || isTexts(value),
    "a string, or a list of strings, that is not empty",
  ],
  userIdClaim: TEXT,
  claims: protective([
    (value) => OBJECT_OPTION[0](value) && "_zod" in (value as object),
    "a schema of zod 4 or zod/mini",
  ]),
} as const satisfies OptionRules;

const RULES = {
  ...CLAIM_RULES,
  jwksUrl: [isKeyAddress, "an https URL, or an http URL of this machine"],
  algorithms: protective([
    (value) =>
      isTexts(value) &&
      (value as string[]).every((name) => (JWT_ALGORITHMS as readonly string[]).includes(name)),
    `a list of ${JWT_ALGORITHMS.join(", ")}: ` +
    '"none" and algorithms with a shared secret are refused',
  ]),
  clockToleranceSeconds: wholeNumber([0, 300, "seconds"]),
  maxTokenAgeSeconds: protective(wholeNumber([1, Infinity, "seconds"])),
  requiredClaims: protective([isTexts, "a list of claims"]),
  typ: protective(TEXT),
  cooldownSeconds: wholeNumber([1, 3600, "seconds"]),
  cacheSeconds: wholeNumber([1, 86_400, "seconds"]),
} as const satisfies Record<keyof JwtAuthOptions, OptionRule>;

/**
 * Checks the options of a check of tokens when the module is loaded.
 *
 * @param owner The function that takes the options.
 * @param options The options.
 * @throws {ConfigurationError} If an option is unknown, missing or invalid.
 */
export function checkJwtOptions(owner: string, options: JwtAuthOptions<unknown>): void {
  checkOptions(owner, options, RULES);
  requireClaimOptions(owner, options);
  if (options.jwksUrl === undefined) {
    checkOption("issuer", options.issuer, [
      isKeyAddress,
      "an https URL if jwksUrl is not set, because the keys are found under it",
    ]);
  }
}

/**
 * Checks that issuer and audience are set.
 *
 * @throws {ConfigurationError} If one is missing.
 */
export function requireClaimOptions(owner: string, options: JwtClaimOptions<unknown>): void {
  for (const name of ["issuer", "audience"] as const) {
    if (options[name] !== undefined) continue;
    throw new ConfigurationError(
      `${owner} needs the option ${name}: without it, tokens that were made for others would be accepted`,
    );
  }
}

/** Checks for an address that is protected against tampering (RFC 7517, section 9.1). */
function isKeyAddress(value: unknown): boolean {
  const url = parseUrl(value as string);
  return url?.protocol === "https:" ||
    (url?.protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname));
}
