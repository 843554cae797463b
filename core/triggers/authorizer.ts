import { nameOperation } from "../handler_settings.ts";
import { UnauthorizedError, UnexpectedError } from "../../errors/http_errors.ts";
import { isClientError } from "../client_error.ts";
import type { LambdaContext } from "../http/lambda.ts";
import { UserStatus } from "../http/user_status.ts";
import { withObservability, type WrapperMetadata } from "../with_observability.ts";
import {
  type AuthorizerRequest,
  getCredentials,
  isHttpAuthorizerEvent,
  readAuthorizerRequest,
} from "./authorizer_request.ts";
import { foreignEvent } from "./foreign_event.ts";
import type {
  AuthorizerEvent,
  AuthorizerPolicyResult,
  AuthorizerResult,
  AuthorizerSimpleResult,
} from "./trigger_events.ts";
import {
  checkChoice,
  checkHandler,
  checkTriggerOptions,
  type TriggerOptions,
} from "./trigger_options.ts";
import { withoutCredentials } from "./without_credential.ts";
import { record } from "../../env/recording.ts";

/** Options of {@link defineAuthorizerHandler}. */
export interface AuthorizerHandlerOptions extends TriggerOptions {
  /**
   * The decision on a caller without a credential. With `allow` the request continues and handlers decide: auth
   * `authorizer-optional` lets it pass, `authorizer` answers 401. With `deny` the gateway answers.
   * @default "allow"
   */
  anonymous?: "allow" | "deny";
  /**
   * The decision on a caller whose credential is invalid. With `allow` the request continues, and handlers with auth
   * `authorizer` or `authorizer-optional` answer 401 with the documented body. With `deny` the gateway answers.
   * @default "allow"
   */
  unauthenticated?: "allow" | "deny";
  /**
   * Response to the client if the handler fails, for instance because the database is down. With `deny` 401, like for a
   * bad credential; with `throw` the gateway's 500, so that clients do not take it for a reason to sign in again.
   * @default "deny"
   */
  onError?: "deny" | "throw";
}

/** Parameters of the handler. */
export interface AuthorizerHandlerParams extends AuthorizerRequest {
  /** The event as the gateway sends it. */
  event: AuthorizerEvent;
  /** Lambda's context. */
  context: LambdaContext;
  /** Ids of this invocation. */
  metadata: WrapperMetadata;
}

/** Decision of the handler about the caller. */
export interface AuthorizerDecision {
  /** Authenticated, Unauthenticated (a credential was shown and is not good) or Anonymous (none was shown). */
  userStatus: UserStatus | `${UserStatus}`;
  /** The user, when authenticated; left out otherwise. */
  userId?: string;
  /** Further facts for handlers: texts, numbers, booleans. Behind a REST API all arrive as texts. */
  context?: Readonly<Record<string, string | number | boolean | undefined>>;
}

/** The function that a user writes. What it throws denies. */
export type AuthorizerHandlerFunction = (
  params: AuthorizerHandlerParams,
) => AuthorizerDecision | Promise<AuthorizerDecision>;

/** The function to export for Lambda. It has the user's function as a property, for tests without the wrapper. */
export interface AuthorizerHandler {
  <E extends AuthorizerEvent>(event: E, context: LambdaContext): Promise<AuthorizerResult<E>>;
  /** The user's function. */
  readonly handler: AuthorizerHandlerFunction;
}

/** Names of the context that are the wrapper's own. */
const RESERVED: ReadonlySet<string> = new Set(["userStatus", "userId", "principalId"]);
const STATUSES: readonly string[] = Object.values(UserStatus);

/**
 * Declares the authorizer of an API. It identifies the caller, and handlers with auth `authorizer` or
 * `authorizer-optional` read its result. REST APIs (types TOKEN and REQUEST) and WebSocket APIs get an IAM policy for the whole stage, since
 * the gateway remembers it for other methods too; HTTP APIs (payload format 2.0) get a simple response, which must be
 * enabled there.
 *
 * @param options Decisions about callers who are not authenticated, names.
 * @returns A function that takes the handler and returns the one to export for Lambda.
 * @throws {ConfigurationError} When an option is unknown or out of range; the message names option and value.
 *
 * @example
 * ```ts
 * import { UserStatus } from "@trellis/fn/core";
 * import { defineAuthorizerHandler } from "@trellis/fn/triggers";
 * import { createLambdaContext, createRequestAuthorizerEvent } from "@trellis/fn/testing";
 *
 * const users = new Map([["t-1", "u-1"]]);
 * export const handler = defineAuthorizerHandler({ logging: { level: "SILENT" }, metrics: false })(
 *   function authorize({ token }) {
 *     if (token === undefined) return { userStatus: UserStatus.Anonymous };
 *     const userId = users.get(token);
 *     if (userId === undefined) return { userStatus: UserStatus.Unauthenticated };
 *     return { userStatus: UserStatus.Authenticated, userId };
 *   },
 * );
 *
 * const event = createRequestAuthorizerEvent({ headers: { Authorization: "Bearer t-1" } });
 * console.log((await handler(event, createLambdaContext())).context); // { userStatus: "Authenticated", userId: "u-1" }
 * ```
 */
export function defineAuthorizerHandler(
  options: AuthorizerHandlerOptions = {},
): (handler: AuthorizerHandlerFunction) => AuthorizerHandler {
  checkTriggerOptions("defineAuthorizerHandler", options, [
    "anonymous",
    "unauthenticated",
    "onError",
  ]);
  const {
    anonymous = "allow",
    unauthenticated = "allow",
    onError = "deny",
    logging = {},
    metrics,
    tracing,
  } = options;
  checkChoice("onError", onError, ["deny", "throw"]);
  const denied = new Set([
    ...(anonymous === "deny" ? [UserStatus.Anonymous] : []),
    ...(unauthenticated === "deny" ? [UserStatus.Unauthenticated] : []),
  ]);

  return function wrapHandler(handler) {
    checkHandler("defineAuthorizerHandler", handler);

    async function authorize(
      event: AuthorizerEvent,
      context: LambdaContext,
      metadata: WrapperMetadata,
    ) {
      const resource = getResource(event);
      try {
        const decision = await handler({
          ...readAuthorizerRequest(event),
          event,
          context,
          metadata,
        });
        const { userStatus, userId, facts } = checkDecision(decision);
        if (denied.has(userStatus)) {
          throw new UnauthorizedError(`Callers who are ${userStatus} are denied`);
        }
        return resource === undefined
          ? { isAuthorized: true, context: facts }
          : allow(userId ?? userStatus, resource, facts);
      } catch (error) {
        throw isClientError(error) ? error : withoutCredentials(error, getCredentials(event));
      }
    }

    function deny(
      error: unknown,
      _context: LambdaContext,
      event: AuthorizerEvent,
    ): AuthorizerSimpleResult {
      if (onError === "throw" && !isClientError(error)) throw new Error("The authorizer failed");
      if (isHttpAuthorizerEvent(event)) return { isAuthorized: false, context: {} };
      // to REST and WebSocket APIs this very message means 401, any other 500
      throw new Error("Unauthorized");
    }

    const lambda = withObservability<
      AuthorizerEvent,
      AuthorizerPolicyResult | AuthorizerSimpleResult
    >(authorize, {
      operationName: nameOperation(options.operationName, handler.name),
      // an HTTP API repeats the credential there, under a name that does not say so
      logging: { ...logging, redact: [...logging.redact ?? [], "identitySource"] },
      metrics,
      tracing,
      respondToError: deny,
    });
    return record(
      "defineAuthorizerHandler",
      [options, handler],
      Object.assign(lambda as AuthorizerHandler, { handler }),
    );
  };
}

/** Returns the resource of the policy: the stage, so that a cached policy is valid for every method. */
function getResource(event: AuthorizerEvent): string | undefined {
  if (isHttpAuthorizerEvent(event)) return undefined;
  const stage = /^arn:[^/:]+:execute-api:[^/]+\/[^/]+\//.exec(String(event?.methodArn))?.[0];
  if (stage === undefined) {
    throw foreignEvent(
      "The event asks for no decision of an authorizer: a gateway must call this function as one",
      event,
    );
  }
  return `${stage}*`;
}

function allow(
  principalId: string,
  resource: string,
  context: AuthorizerPolicyResult["context"],
): AuthorizerPolicyResult {
  return {
    principalId,
    policyDocument: {
      Version: "2012-10-17",
      Statement: [{ Action: "execute-api:Invoke", Effect: "Allow", Resource: resource }],
    },
    context,
  };
}

interface CheckedDecision {
  userStatus: UserStatus;
  userId: string | undefined;
  facts: Record<string, string | number | boolean>;
}

/** Throws if the gateway or the handlers would misread a decision. The messages name keys and types, never values. */
function checkDecision(decision: AuthorizerDecision): CheckedDecision {
  const { userStatus, userId, context = {} } = decision ?? {};
  if (!STATUSES.includes(userStatus)) {
    throw new UnexpectedError(
      `The authorizer's handler returned no userStatus that is ${STATUSES.join(", ")}`,
    );
  }
  const authenticated = userStatus === UserStatus.Authenticated;
  if (authenticated && (typeof userId !== "string" || userId === "")) {
    throw new UnexpectedError("The authorizer's handler returned Authenticated without a userId");
  }
  const facts: CheckedDecision["facts"] = {};
  for (const [key, value] of Object.entries(context)) {
    if (RESERVED.has(key)) {
      throw new UnexpectedError(
        `The authorizer's context must not have ${key}: return it beside the context`,
      );
    }
    if (value === undefined) continue;
    if (
      !["string", "number", "boolean"].includes(typeof value) ||
      (typeof value === "number" && !Number.isFinite(value))
    ) {
      throw new UnexpectedError(
        `The authorizer's context has a ${typeof value} as ${key}: the gateway takes texts, finite numbers and booleans`,
      );
    }
    facts[key] = value;
  }
  facts.userStatus = userStatus;
  if (authenticated) facts.userId = userId!;
  return {
    userStatus: userStatus as UserStatus,
    userId: authenticated ? userId : undefined,
    facts,
  };
}
