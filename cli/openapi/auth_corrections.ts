import { CONFIRMING_ROUTES } from "../../auth/accounts/route_failures.ts";
import { getAnswerSchema } from "./auth_answers.ts";

type Json = Record<string, unknown>;

/** Part of a route of better-auth. */
interface DescribedRoute {
  readonly method: string;
  /** `/callback/:id` */
  readonly path: string;
  readonly operation: Readonly<Record<string, unknown>>;
}

/**
 * Returns the responses of a route with those that better-auth gives and does not describe, and with
 * the bodies that it describes wrongly. Found with generated requests (version 1.7.25).
 *
 * @param route The route.
 * @param hasSecondFactors Whether the configuration has the plugin of second factors.
 */
export function completeResponses(
  { method, path, operation }: DescribedRoute,
  hasSecondFactors: boolean,
): Record<string, Json> {
  const responses = operation.responses as Record<string, Json>;
  const answer = getAnswerSchema(`${method} ${path}`, hasSecondFactors);
  const hasSuccess = Object.keys(responses).some((status) => Number(status) < 400);
  return {
    ...!hasSuccess && !redirects(path, operation) && {
      200: { description: "OK", content: { "application/json": { schema: {} } } },
    },
    ...redirects(path, operation) && {
      302: { description: "Redirects to the page of the request, or to the page of errors" },
    },
    ...method === "POST" && {
      415: { description: "Unsupported Media Type. The type of the body is not JSON." },
    },
    // answered by this package, see auth/accounts/route_failures.ts
    ...confirms(method, path) && {
      422: { description: "Unprocessable Content. Another account has taken the address." },
    },
    ...path === "/is-username-available" && {
      422: { description: "Unprocessable Content. The name is no valid username." },
    },
    ...path === "/two-factor/verify-backup-code" && {
      409: { description: "Conflict. Another request has used a backup code meanwhile." },
    },
    ...responses,
    ...answer !== undefined && {
      200: {
        description: "OK",
        ...responses[200],
        content: { "application/json": { schema: answer } },
      },
    },
  };
}

/** Returns whether a route writes an address that another account may have taken. */
function confirms(method: string, path: string): boolean {
  return Object.hasOwn(CONFIRMING_ROUTES, path) && CONFIRMING_ROUTES[path] === method;
}

/** Returns whether a route is opened by a link of a mail, or by a provider of identities. */
function redirects(path: string, { parameters }: DescribedRoute["operation"]): boolean {
  const given = Array.isArray(parameters) ? parameters as { readonly name?: unknown }[] : [];
  return path.split("/").includes("callback") || given.some(({ name }) => name === "callbackURL");
}

/** The metadata of organizations are objects in some responses and texts of JSON in others. */
const METADATA = { description: "The metadata: as they were given, or their text in JSON" };

/**
 * Corrects the schema of a table. Optional fields can be `null`: columns without a value are `null`
 * in responses.
 *
 * @param name better-auth's name.
 */
export function correctTable(name: string, schema: Json): Json {
  const { properties, required = [] } = schema as {
    readonly properties?: Readonly<Record<string, Json>>;
    readonly required?: readonly string[];
  };
  if (properties === undefined) return schema;
  const changed = Object.entries(properties).map(([key, field]) => {
    const { type } = field;
    if (name === "Organization" && key === "metadata") return [key, METADATA] as const;
    if (required.includes(key) || type === undefined) return [key, field] as const;
    return [key, { ...field, type: [...new Set([type, "null"].flat())] }] as const;
  });
  return { ...schema, properties: Object.fromEntries(changed) };
}
