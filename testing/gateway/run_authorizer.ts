import type { AuthorizerContext, ProxyResult, RestApiEvent } from "../../core/http/lambda.ts";
import type { RequestAuthorizerEvent } from "../../core/triggers/trigger_events.ts";
import { createRequestAuthorizerEvent } from "../gateway_events.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";

/**
 * Returns the configured authorizer, else the only one; `undefined` if the project has none.
 *
 * @param functions The functions of the project.
 * @param configured Name in the configuration.
 * @throws {ConfigurationError} If there are several.
 */
export function selectAuthorizer<F extends { readonly kind: string; readonly name: string }>(
  functions: readonly F[],
  configured?: string,
): F | undefined {
  const known = functions.filter(({ kind }) => kind === "authorizer");
  if (configured !== undefined) return known.find(({ name }) => name === configured);
  if (known.length <= 1) return known[0];
  throw new ConfigurationError(
    `There are several authorizers: ${known.map(({ name }) => name).join(", ")}. ` +
      "Set infra.api.authorizer to one of them",
  );
}

/** Builds the event with which API Gateway asks the authorizer of a request. */
export function toAuthorizerEvent(event: RestApiEvent): RequestAuthorizerEvent {
  const { body: _body, isBase64Encoded: _encoded, ...request } = event;
  return {
    ...createRequestAuthorizerEvent({ method: event.httpMethod, path: event.path }),
    ...request,
  };
}

/**
 * Invokes an authorizer like API Gateway.
 *
 * @param invoke Invokes it, and returns its policy or its error.
 * @throws {GatewayError} If access is denied.
 */
export async function runAuthorizer(
  invoke: () => Promise<{ readonly result?: unknown; readonly error?: unknown }>,
): Promise<AuthorizerContext> {
  const { result, error } = await invoke();
  if (error !== undefined) {
    throw new GatewayError((error as Error).message === "Unauthorized" ? 401 : 500);
  }
  const policy = result as {
    policyDocument?: { Statement?: { Effect?: string }[] };
    context?: AuthorizerContext;
  };
  const allows = policy?.policyDocument?.Statement?.some(({ Effect }) => Effect === "Allow");
  if (!allows) throw new GatewayError(403);
  return policy.context ?? {};
}

/** The response of API Gateway if the authorizer denies access or fails. */
export class GatewayError extends Error {
  constructor(readonly status: 401 | 403 | 500) {
    super(
      `The authorizer ${
        status === 401 ? "denied" : status === 403 ? "gave a policy that denies" : "failed"
      }`,
    );
  }

  toResult(): ProxyResult {
    const message = this.status === 401
      ? "Unauthorized"
      : this.status === 403
      ? "User is not authorized to access this resource"
      : null;
    return {
      statusCode: this.status,
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ message }),
      isBase64Encoded: false,
    };
  }
}
