import { logWarn } from "../../observability/logger.ts";
import type { BetterAuthContext } from "../accounts/better_auth.ts";
import { parseUrl } from "../../core/http/parse_url.ts";
import { isTrustedOrigin } from "../sessions/trusted_origin.ts";

/** Fields of requests that name a page for a later redirect, with better-auth's code for a bad one. */
const TARGET_FIELDS: Readonly<Record<string, string>> = {
  callbackURL: "INVALID_CALLBACK_URL",
  errorCallbackURL: "INVALID_ERROR_CALLBACK_URL",
  newUserCallbackURL: "INVALID_NEW_USER_CALLBACK_URL",
  redirectTo: "INVALID_REDIRECT_URL",
};

/** The check of the redirects of one request. */
export interface RedirectCheck {
  /** Returns the response to a request whose query or body names a page that is not trusted. */
  refuseTargets(body: unknown): Response | undefined;
  /** Returns the response that replaces one with a redirect to another site. */
  refuseLocation(response: Response): Promise<Response | undefined>;
}

/**
 * Creates the check of the redirects of a request. Addresses are read as browsers do (WHATWG URL),
 * after better-auth's own check, which compares them as text.
 *
 * @param request The request.
 * @param context better-auth's context.
 * @param path The path after the base path.
 */
export async function createRedirectCheck(
  request: Request,
  context: BetterAuthContext,
  path: string,
): Promise<RedirectCheck> {
  const origins = await listOrigins(request, context);
  const isTrusted = (text: string) => isTrustedPage(text, context, origins);
  return {
    refuseTargets(body): Response | undefined {
      if (skipsCheck(context, path)) return undefined;
      const query = new URL(request.url).searchParams;
      for (const [field, code] of Object.entries(TARGET_FIELDS)) {
        const given = [...query.getAll(field), Object(body)[field]];
        // other types are refused by better-auth
        const values = given.filter((value) => typeof value === "string" && value !== "");
        if (values.every((value) => isTrusted(value) && isTrusted(decode(value)))) continue;
        return Response.json({ message: `Invalid ${field}`, code }, { status: 403 });
      }
      return undefined;
    },
    async refuseLocation(response): Promise<Response | undefined> {
      const targets = [response.headers.get("location"), await readJsonRedirect(response)];
      const isSafe = (target: string | null | undefined) =>
        !target || isAbsolute(target) || isTrusted(target);
      if (targets.every(isSafe)) return undefined;
      logWarn("A redirect of the auth routes to another site was refused", { path });
      return Response.json({ message: "Invalid redirect", code: "INVALID_REDIRECT_URL" }, {
        status: 403,
      });
    },
  };
}

/** Lists the trusted origins of better-auth: those of the options, of plugins and of `baseURL`. */
async function listOrigins(request: Request, context: BetterAuthContext): Promise<string[]> {
  const { trustedOrigins } = context.options;
  const ofRequest = typeof trustedOrigins === "function" ? await trustedOrigins(request) : [];
  return [...context.trustedOrigins, ...ofRequest.filter((origin) => typeof origin === "string")];
}

/** Checks the option `advanced.disableOriginCheck`, with which better-auth trusts every page. */
function skipsCheck({ skipOriginCheck }: BetterAuthContext, path: string): boolean {
  if (!Array.isArray(skipOriginCheck)) return skipOriginCheck;
  return skipOriginCheck.some((each) =>
    `${path}/`.startsWith(each.endsWith("/") ? each : `${each}/`)
  );
}

/** Decodes an address as the routes of magic links do; empty if they would fail. */
function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return "";
  }
}

/**
 * Checks that a browser stays on a trusted site. A path that begins with two slashes after the
 * removal of dots is refused: without its origin it would name another host.
 */
function isTrustedPage(
  text: string,
  context: BetterAuthContext,
  origins: readonly string[],
): boolean {
  const url = parseUrl(text, context.baseURL);
  if (text === "" || url === undefined || url.pathname.startsWith("//")) return false;
  if (url.protocol === "http:" || url.protocol === "https:") {
    return isTrustedOrigin(url.href, origins) && isSameAlone(text, url);
  }
  // addresses of native applications
  return context.isTrustedOrigin.call({ trustedOrigins: [...origins] }, text);
}

/** Checks that an address means the same without a base, which `https:evil.example` does not. */
function isSameAlone(text: string, url: URL): boolean {
  const alone = parseUrl(text);
  return alone === undefined || alone.origin === url.origin;
}

function isAbsolute(text: string): boolean {
  return /^[a-z][a-z\d+.-]*:\/\//i.test(text) && parseUrl(text) !== undefined;
}

/** Returns the address to which better-auth's client goes: `{ url, redirect: true }`. */
async function readJsonRedirect(response: Response): Promise<string | undefined> {
  if (!/json/i.test(response.headers.get("content-type") ?? "")) return undefined;
  const text = await response.clone().text();
  if (!text.includes('"redirect":true')) return undefined;
  const { url } = Object(JSON.parse(text));
  return typeof url === "string" ? url : undefined;
}
