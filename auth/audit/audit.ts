// `better_auth.ts` imports this file if the audit log is enabled.
import { recordWrites } from "./audit_adapter.ts";
import type { AuditSettings } from "./audit_option.ts";
import { runAudited } from "./audit_record.ts";
import type { BetterAuthApi } from "../better_auth/better_auth_types.ts";

type AdapterFactory<Options, Adapter> = (options: Options) => Adapter;
type Handler = (request: Request) => Promise<Response>;
type Endpoint = (input?: { headers?: HeadersInit }) => unknown;

/**
 * Makes better-auth's adapter record events.
 *
 * @param factory Creates the adapter.
 * @param settings The option `audit`.
 */
export function auditAdapter<Options, Adapter extends object>(
  factory: AdapterFactory<Options, Adapter>,
  settings: AuditSettings,
): AdapterFactory<Options, Adapter> {
  return (options) => recordWrites(factory(options), settings);
}

/**
 * Makes the routes record the address and the user agent of requests.
 *
 * @param handler The routes.
 */
export function auditHandler(handler: Handler): Handler {
  return (request) =>
    runAudited(
      { path: new URL(request.url).pathname, headers: request.headers, newUsers: new Set() },
      () => handler(request),
    );
}

/**
 * Makes the endpoints record the address and the user agent, if they are called with headers.
 *
 * @param api The endpoints.
 */
export function auditApi(api: BetterAuthApi): BetterAuthApi {
  const audited = Object.entries(api as Record<string, Endpoint>).map(([name, endpoint]) => {
    function callAudited(input?: { headers?: HeadersInit }): unknown {
      const headers = input?.headers === undefined ? undefined : new Headers(input.headers);
      return runAudited({ path: name, headers, newUsers: new Set() }, () => endpoint(input));
    }
    // path and options, which describe the route
    return [name, Object.assign(callAudited, endpoint)];
  });
  return Object.fromEntries(audited);
}
