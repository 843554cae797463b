import { checkHttpEvent, getHeader, getSource, isHttpEvent } from "../../core/http/api_event.ts";
import { extractBearerToken } from "../../core/http/bearer_token.ts";
import { CORRELATION_ID_HEADER } from "../../core/http/correlation_id.ts";
import {
  allowCredentials,
  type CorsOption,
  createCorsHeaders,
  getErrorCorsHeaders,
  isCorsOption,
  NO_CORS_HEADERS,
} from "../../core/http/cors.ts";
import { buildErrorResponse, type ErrorBodyFormat } from "../../core/http/error_response.ts";
import type { ApiEvent, ProxyResult } from "../../core/http/lambda.ts";
import { buildPreflightResponse, isPreflight, withPreflight } from "../../core/http/preflight.ts";
import { toGatewayResult } from "../../core/http/proxy_result.ts";
import { checkResponseSize } from "../../core/response_limit.ts";
import {
  createSecurityHeaders,
  isSecurityHeadersOption,
  type SecurityHeadersOption,
} from "../../core/http/security_headers.ts";
import type { LoggingConfig } from "../../core/logging_config.ts";
import {
  ANY_OPTION,
  checkOptions,
  FUNCTION_OPTION,
  type OptionRules,
  protective,
} from "../../core/option_rules.ts";
import { type LambdaHandler, withObservability } from "../../core/with_observability.ts";
import {
  ConfigurationError,
  MethodNotAllowedError,
  NotFoundError,
  ServiceUnavailableError,
} from "../../errors/http_errors.ts";
import { logWarn } from "../../observability/logger.ts";
import { getBasePath, toAuthRequest } from "../accounts/auth_request.ts";
import { type AuthErrorBody, type ResponseIds, toProxyResult } from "./auth_response.ts";
import {
  checkRoutePatterns,
  findAuthRoute,
  findUnknownPatterns,
  isMounted,
  listMethods,
} from "../better_auth/auth_routes.ts";
import type { StartedBetterAuth } from "../accounts/better_auth.ts";
import { countStatements } from "../better_auth/statement_scope.ts";
import { readAuthBody, refuseFailure, refuseInput, toClientError } from "./check_body.ts";
import { type BetterAuthInstance, getInternals } from "../accounts/instance.ts";
import { withLocalAccess } from "../accounts/local_access.ts";
import { createRedirectCheck } from "./redirects.ts";
import { readSessionCookies } from "../cookies/session_cookies.ts";
import { readSessionToken } from "../cookies/session_token.ts";
import { isSessionActive } from "../sessions/sessions.ts";
import { record } from "../../env/recording.ts";
import type { AuthSettings } from "../config/config.ts";
import { listTrustedOrigins } from "../sessions/session_credential.ts";
import { isTrustedOrigin } from "../sessions/trusted_origin.ts";

/** Options of {@link createAuthHandler}. */
export interface AuthHandlerOptions {
  /**
   * Operation name in metrics and spans.
   * @default "Auth"
   */
  operationName?: string;
  /** Log settings. */
  logging?: LoggingConfig;
  /**
   * The routes that this function serves, as paths after the base path: `"/sign-out"`,
   * `"/sign-in/*"`, `"/reset-password/:token"`. Other paths are 404. The
   * generated database grants are those of these routes, unless the configuration has plugins or
   * hooks, which may do anything in each route.
   * @default every route of the configuration
   */
  routes?: readonly string[];
  /**
   * Origins that can read responses to requests without cookies. Pages of `baseURL` and of
   * `trustedOrigins` can also send cookies. `false` sends no CORS headers.
   * @default CORS_ALLOW_ORIGIN
   */
  cors?: CorsOption;
  /**
   * Headers that protect responses: values by name, `false` for one or all. Headers of better-auth win.
   * @default X-Content-Type-Options: nosniff, Cache-Control: no-store, and HSTS over https
   */
  securityHeaders?: SecurityHeadersOption;
  /**
   * Returns the body of an error response. The official client reads `message` and `code`.
   * @default better-auth's body
   */
  errorBody?(body: AuthErrorBody, statusCode: number): unknown;
}

const RULES = {
  operationName: ANY_OPTION,
  logging: ANY_OPTION,
  routes: protective([Array.isArray, 'a list of paths such as ["/sign-in/*", "/sign-out"]']),
  cors: protective([
    isCorsOption,
    "* or origins such as https://example.com, without a path, { origins, credentials: true }, or false",
  ]),
  securityHeaders: [isSecurityHeadersOption, "false, or values by name"],
  errorBody: FUNCTION_OPTION,
} as const satisfies OptionRules;

/**
 * Creates the Lambda function for better-auth's routes: sign-up, sign-in, sign-out, callbacks of
 * identity providers and the routes of plugins. Mount it under `/api/auth/{proxy+}`, or under the
 * path of `baseURL`, with any method. It accepts events of REST APIs, HTTP APIs, function URLs and
 * load balancers, and answers CORS preflights.
 *
 * @param getAuthInstance Returns the instance, such as `getConfiguredSessionAuth`.
 * @param options Mounted routes, CORS, error bodies, operation name and log settings.
 * @returns The function to export.
 * @throws {ConfigurationError} If an option is unknown or invalid. A route that the configuration
 * does not serve is reported by the first request.
 *
 * @example
 * ```ts
 * import { createAuthHandler, defineAuth } from "@trellis/fn/auth";
 * import { getDrizzleClient } from "@trellis/fn/database";
 *
 * const { getAuth } = defineAuth(() => getDrizzleClient({ provider: "embedded-pg" }), {
 *   secret: "at-least-32-random-characters-0123456789",
 *   baseURL: "http://localhost:3000",
 * });
 * const handler = createAuthHandler(getAuth);
 * // a function for a part of the routes
 * const signIn = createAuthHandler(getAuth, { routes: ["/sign-in/*"] });
 * ```
 */
export function createAuthHandler(
  getAuthInstance: () => BetterAuthInstance | Promise<BetterAuthInstance>,
  options: AuthHandlerOptions = {},
): LambdaHandler<ApiEvent, ProxyResult> {
  checkOptions("createAuthHandler", options, RULES);
  const { routes: patterns, errorBody } = options;
  if (patterns !== undefined) checkRoutePatterns(patterns);
  const cors = createAuthCors(options.cors);
  const getSecurityHeaders = createSecurityHeaders(options.securityHeaders, true);

  async function answer(event: ApiEvent, ids: ResponseIds): Promise<ProxyResult> {
    const auth = await getAuthInstance();
    const { settings, start } = getInternals(auth);
    const corsHeaders = await cors.getHeaders(event, settings);
    if (isPreflight(event)) return buildPreflightResponse(event, corsHeaders);
    const request = toAuthRequest(event, settings);
    const path = getRoute(request, getBasePath(settings));
    if (!isMounted(patterns, path)) throw new NotFoundError("No such route");
    const library = await start();
    if (patterns !== undefined) requireKnownRoutes(patterns, library);
    const response = await serve(library, request, path);
    if (response.ok && path === "/sign-out") await checkSignedOut(auth, library, request.headers);
    return await toProxyResult(response, ids, errorBody);
  }

  const handler = withObservability<ApiEvent, ProxyResult>(
    async function serveAuthRoutes(event, context, { correlationId }): Promise<ProxyResult> {
      checkHttpEvent(event);
      const result = await answer(event, { context, correlationId });
      const extra = {
        [CORRELATION_ID_HEADER]: correlationId,
        ...cors.getErrorHeaders(event),
        ...getSecurityHeaders(event),
      };
      return checkResponseSize(event, toGatewayResult(event, getSource(event), result, extra));
    },
    {
      operationName: options.operationName || "Auth",
      logging: options.logging,
      respondToError(error, context, event) {
        if (!isHttpEvent(event)) throw error;
        return toGatewayResult(
          event,
          getSource(event),
          buildErrorResponse(context, error, errorBody as ErrorBodyFormat | undefined),
          { ...cors.getErrorHeaders(event), ...getSecurityHeaders(event) },
        );
      },
    },
  );
  withLocalAccess(handler, async () => {
    const { settings, start } = getInternals(await getAuthInstance());
    return { settings, library: await start() };
  });
  withPreflight(handler, async (event) => {
    const { settings } = getInternals(await getAuthInstance());
    const response = buildPreflightResponse(event, await cors.getHeaders(event, settings));
    return toGatewayResult(event, getSource(event), response, {});
  });
  return record("createAuthHandler", [getAuthInstance, options], handler);
}

/** Returns the path after the base path; empty outside of it, which no route matches. */
function getRoute(request: Request, basePath: string): string {
  const { pathname } = new URL(request.url);
  return pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length) : "";
}

/** Throws if the option `routes` has an entry that the configuration does not serve. */
function requireKnownRoutes(patterns: readonly string[], library: StartedBetterAuth): void {
  const unknown = findUnknownPatterns(patterns, library.routes);
  if (unknown.length === 0) return;
  throw new ConfigurationError(
    `createAuthHandler's option routes has ${unknown.join(", ")}, ` +
      "which the configuration does not serve: remove it, or add the plugin",
  );
}

async function serve(
  library: StartedBetterAuth,
  request: Request,
  path: string,
): Promise<Response> {
  const route = findAuthRoute(library.routes, request.method, path);
  const methods = route === undefined ? listMethods(library.routes, path) : [];
  // HEAD too: a program that looks at the link of a mail must not use its token
  if (methods.length > 0) throw new MethodNotAllowedError(methods);
  const redirects = await createRedirectCheck(request, library.context, path);
  const body = await readAuthBody(request);
  const input = { request, path, body, route };
  const refused = redirects.refuseTargets(body?.value) ??
    await refuseInput(input, library.context.tables.user.fields);
  if (refused !== undefined) return refused;
  const { result, hasFailed } = await countStatements(() =>
    library.handler(request).catch((error: unknown) => refuseFailure(error, input))
  );
  const response = hasFailed ? result : await toClientError(result, input, library.context);
  return await redirects.refuseLocation(response) ?? response;
}

/**
 * Ends all sessions of a sign-out request. better-auth answers 200 even if it could not delete the
 * session, and reads only the first of several session cookies.
 */
async function checkSignedOut(
  auth: BetterAuthInstance,
  library: StartedBetterAuth,
  headers: Headers,
): Promise<void> {
  const { secret } = getInternals(auth).settings;
  const bearer = extractBearerToken(headers.get("authorization"));
  const token = bearer === null ? undefined : await readSessionToken(bearer, secret);
  // better-auth reads cookies only without a valid token
  const tokens = token === undefined
    ? await readSessionCookies(headers.get("cookie"), library.sessionCookie, secret)
    : [token];
  for (const each of tokens) {
    if (!await isSessionActive(auth, each)) continue;
    await library.deleteSession(each).catch((error: unknown) =>
      logWarn("A session could not be deleted", { error })
    );
    if (await isSessionActive(auth, each)) {
      throw new ServiceUnavailableError("The session could not be ended. Try again");
    }
  }
}

type HeaderValues = Readonly<Record<string, string>>;

/** The CORS headers of the auth routes. */
interface AuthCors {
  /** Returns the headers for an event. They allow credentials if the origin is trusted. */
  getHeaders(event: ApiEvent, settings: AuthSettings): Promise<HeaderValues>;
  /** Returns the headers of an error response. */
  getErrorHeaders(event: ApiEvent): HeaderValues;
}

/**
 * Creates the CORS headers of the auth routes. Pages of trusted origins can send cookies and read
 * responses. Other origins that the option allows can read responses to requests without cookies.
 *
 * @param option The handler's option. `false` sends no headers.
 * @throws {ConfigurationError} If `CORS_ALLOW_ORIGIN` is invalid.
 */
function createAuthCors(option: CorsOption | undefined): AuthCors {
  const getOtherHeaders = createCorsHeaders(option);
  const decided = new WeakMap<ApiEvent, HeaderValues>();

  async function decide(event: ApiEvent, settings: AuthSettings): Promise<HeaderValues> {
    if (option === false) return NO_CORS_HEADERS;
    const origin = getHeader(event, "Origin", "origin");
    const isTrusted = origin !== undefined &&
      isTrustedOrigin(origin, await listTrustedOrigins(event, settings));
    return isTrusted ? allowCredentials(origin) : { ...getOtherHeaders(event), Vary: "Origin" };
  }

  return {
    async getHeaders(event, settings) {
      const headers = await decide(event, settings);
      decided.set(event, headers);
      return headers;
    },
    getErrorHeaders(event) {
      return decided.get(event) ?? getErrorCorsHeaders(getOtherHeaders, event);
    },
  };
}
