import type { FunctionOptions } from "./function_options.ts";
import { type CorsOption, isCorsOption } from "./http/cors.ts";
import type { ErrorBodyFormat } from "./http/error_response.ts";
import { isSecurityHeadersOption, type SecurityHeadersOption } from "./http/security_headers.ts";
import { FUNCTION_OPTION, type OptionRules, protective } from "./option_rules.ts";

/** Options of all functions that answer HTTP requests. */
export interface HttpOptions extends FunctionOptions {
  /**
   * Origins that may read the responses, errors too.
   * @default CORS_ALLOW_ORIGIN
   */
  cors?: CorsOption;
  /**
   * Changes the security headers of the responses, errors too: `{ "Cache-Control": "private, max-age=60" }` sets one,
   * `false` omits one or all. By default `X-Content-Type-Options: nosniff`, with auth `Cache-Control: no-store`, and over
   * https `Strict-Transport-Security: max-age=31536000`. Headers that the handler sets itself win.
   */
  securityHeaders?: SecurityHeadersOption;
  /**
   * Gives the body of error responses another form, for clients that expect one. It gets the body that would be sent,
   * which is safe to show, and the status. `Accept: application/problem+json` has no effect then.
   * @default the documented body
   */
  errorBody?: ErrorBodyFormat;
}

/** The rules of the options that only {@link HttpOptions} has. */
export const HTTP_RULES: OptionRules = {
  cors: protective([
    isCorsOption,
    '"*", an origin such as "https://example.com", a list, { origins, credentials: true } or false',
  ]),
  securityHeaders: [isSecurityHeadersOption, "false, or values by name"],
  errorBody: FUNCTION_OPTION,
};
