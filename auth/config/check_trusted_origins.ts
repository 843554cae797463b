import { isStandIn } from "../../env/recording.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { AuthSettings } from "./config.ts";
import { parseUrl } from "../../core/http/parse_url.ts";

/** Second labels below which registries of countries sell names: `co.uk`, `com.br`. */
const REGISTRY_LABEL = /^(?:ac|co|com|edu|gob|gov|gv|ltd|mil|ne|net|nom|or|org|plc|sch)$/;
/** Domains below which anyone can register a name, and domains of private networks. */
const SHARED_DOMAINS = new Set([
  ..."amplifyapp.com appspot.com azurestaticapps.net azurewebsites.net blogspot.com cloudfront.net"
    .split(" "),
  ..."deno.dev deno.net firebaseapp.com fly.dev github.io gitlab.io herokuapp.com loca.lt netlify.app"
    .split(" "),
  ..."ngrok.app ngrok.dev ngrok.io ngrok-free.app ngrok-free.dev nip.io onrender.com pages.dev r2.dev"
    .split(" "),
  ..."railway.app replit.app replit.dev run.app sslip.io surge.sh trycloudflare.com vercel.app web.app"
    .split(" "),
  ..."workers.dev".split(" "),
]);
/** Domains of AWS, whose names below have a region: `execute-api.eu-west-1.amazonaws.com`. */
const AWS_DOMAIN = /(?:^|\.)(?:amazonaws\.com(?:\.cn)?|on\.aws)$/;
/** Schemes whose pages any author can create, or whose URLs have no host. */
const REFUSED_SCHEMES =
  /^(?:about|blob|data|file|filesystem|javascript|vbscript|view-source|wss?)$/;

/**
 * Refuses entries of `trustedOrigins` that trust pages of other parties, and those that can match no
 * origin: better-auth compares an entry without `*` and `?` with an origin as text, and takes a pattern
 * without `://` for the host of any scheme.
 *
 * @param entries The list, or the result of a function. Entries that are `null` or `undefined` are skipped.
 * @throws {ConfigurationError} If an entry is refused. It says what to write in its place.
 */
export function checkTrustedOrigins(entries: readonly unknown[]): void {
  for (const entry of entries) {
    if (entry === undefined || entry === null || isStandIn(entry)) continue;
    const problem = typeof entry === "string" ? findProblem(entry) : "it must be a string";
    if (problem === undefined) continue;
    throw new ConfigurationError(
      `AuthConfig.trustedOrigins has ${JSON.stringify(entry)}: ${problem}`,
    );
  }
}

/** Checks a list once, and the result of a function at each of its calls. */
export function withCheckedOrigins(
  trusted: AuthSettings["trustedOrigins"],
): AuthSettings["trustedOrigins"] {
  if (typeof trusted !== "function") {
    checkTrustedOrigins(trusted);
    return [...trusted];
  }
  return async function listCheckedOrigins(request) {
    const origins = await trusted(request);
    if (!Array.isArray(origins)) {
      throw new ConfigurationError(
        'AuthConfig.trustedOrigins is a function that returned no list: it must return one such as ["https://app.example.com"]',
      );
    }
    checkTrustedOrigins(origins);
    return origins;
  };
}

function findProblem(entry: string): string | undefined {
  const [all, scheme, authority, rest] = /^([a-z][a-z\d+.-]*):\/\/([^/#]*)(.*)$/is.exec(entry) ??
    [];
  if (all === undefined) return `it needs a scheme, ${suggest(entry.replace(/^[^:]*:\/\//, ""))}`;
  if (/[\s\\,@]/.test(entry)) return `it must be one origin, ${suggest("")}`;
  if (REFUSED_SCHEMES.test(scheme.toLowerCase())) {
    return `pages have no such origin, ${suggest(authority)}`;
  }
  const isPattern = /[*?]/.test(authority);
  if (!/^https?$/i.test(scheme)) {
    // addresses of an application belong to its scheme, but anyone can write a browser extension
    const isExtension = /-extension$/i.test(scheme) && (isPattern || authority === "");
    return isExtension
      ? `any extension would be trusted, write its id: ${scheme}://<id>`
      : undefined;
  }
  if (!isPattern) return isOrigin(entry) ? undefined : `it equals no origin, ${suggest(authority)}`;
  if (rest !== "") return `an origin has no path, ${suggest(authority)}`;
  if (entry !== entry.toLowerCase()) return `origins are lower-case, ${suggest(authority)}`;
  return findHostProblem(authority);
}

/** Checks a pattern whose host must end with a domain of one's own, because `*` matches dots too. */
function findHostProblem(authority: string): string | undefined {
  const [, host, port = ""] = /^(.*?)(:[^:.]*)?$/.exec(authority)!;
  const last = Math.max(host.lastIndexOf("*"), host.lastIndexOf("?"));
  const fixed = host.slice(last + 1);
  if (!/^(?::(?:\d{1,5}|\*))?$/.test(port)) return `a port is a number or *, ${suggest(host)}`;
  if (last < 0) {
    return isOrigin(`https://${host}`) ? undefined : `its host is not valid, ${suggest("")}`;
  }
  if (!fixed.startsWith(".")) {
    return `hosts of others end like this too, ${suggest("")}`;
  }
  const domain = fixed.slice(1);
  return isOwnDomain(domain)
    ? undefined
    : `anybody can get a name below ${domain || "it"}, ${suggest("")}`;
}

/** Checks for a domain that can be registered, by its form and the list of well-known hosts. */
function isOwnDomain(domain: string): boolean {
  if (domain === "localhost") return true;
  const labels = domain.split(".");
  const [first, top] = labels.slice(-2);
  if (!labels.every((label) => /^[a-z\d](?:[a-z\d-]*[a-z\d])?$/.test(label))) return false;
  if (labels.length < 2 || /^\d+$/.test(top)) return false;
  if (labels.length === 2 && top.length === 2 && REGISTRY_LABEL.test(first)) return false;
  return !SHARED_DOMAINS.has(domain) && !AWS_DOMAIN.test(domain);
}

/** Checks that a text is an origin as browsers send it. */
function isOrigin(text: string): boolean {
  return parseUrl(text)?.origin === text;
}

/** Says what to write, with the host that was given where it makes an entry that passes. */
function suggest(authority: string): string {
  const [host] = authority.toLowerCase().split(/[/#]/, 1);
  const entry = `https://${host.replace(/:443$/, "")}`;
  const isUsable = host !== "" &&
    (/[*?]/.test(host)
      ? findHostProblem(host) === undefined
      : isOrigin(entry) && host.includes("."));
  return isUsable
    ? `such as "${entry}"`
    : 'such as "https://app.example.com", or "https://*.example.com" for all names below a domain of your own';
}
