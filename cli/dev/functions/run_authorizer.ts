import type { AuthorizerContext, ProxyResult } from "../../../core/http/lambda.ts";
import { ConfigurationError } from "../../../errors/http_errors.ts";
import type { FunctionFile } from "../../discovery/function_files.ts";
import { BuildError } from "../../sources/build_error.ts";
import type { FunctionStore } from "./function_store.ts";

/**
 * Returns the configured authorizer, else the only one; `undefined` if the project has none.
 *
 * @param configured Name in the configuration.
 * @throws {ConfigurationError} If there are several.
 */
export function selectAuthorizer(
  store: FunctionStore,
  configured?: string,
): FunctionFile | undefined {
  const known = store.list().filter(({ kind }) => kind === "authorizer");
  if (configured !== undefined) return known.find(({ name }) => name === configured);
  if (known.length <= 1) return known[0];
  throw new ConfigurationError(
    `There are several authorizers: ${known.map(({ name }) => name).join(", ")}. ` +
      "Set infra.api.authorizer to one of them",
  );
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
  if (error instanceof BuildError) throw error;
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
