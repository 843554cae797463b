import { CONFIRMING_ROUTES } from "../../auth/accounts/route_failures.ts";

type Json = Record<string, unknown>;

/** Part of a route of better-auth. */
interface DescribedRoute {
  readonly method: string;
  /** `/callback/:id` */
  readonly path: string;
  readonly operation: Readonly<Record<string, unknown>>;
}

/**
 * Returns the responses of a route with those that better-auth gives and does not describe. Found
 * with generated requests (version 1.7.25).
 */
export function completeResponses(
  { method, path, operation }: DescribedRoute,
): Record<string, Json> {
  const responses = operation.responses as Record<string, Json>;
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
    ...responses,
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

/**
 * Allows `null` for the optional fields of a table: columns without a value are `null` in responses.
 */
export function allowNulls(schema: Json): Json {
  const { properties, required = [] } = schema as {
    readonly properties?: Readonly<Record<string, Json>>;
    readonly required?: readonly string[];
  };
  if (properties === undefined) return schema;
  const changed = Object.entries(properties).map(([name, field]) => {
    const { type } = field;
    if (required.includes(name) || type === undefined) return [name, field] as const;
    return [name, { ...field, type: [...new Set([type, "null"].flat())] }] as const;
  });
  return { ...schema, properties: Object.fromEntries(changed) };
}
