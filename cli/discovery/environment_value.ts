/**
 * The value of an environment variable of a function: a string; a resource, which the function's
 * role is then allowed to use; or a Terraform variable, to set it per stage.
 */
export type EnvironmentValue =
  | string
  /** The URL of the queue; allows sending messages. */
  | { queue: string }
  /** The ARN of the topic; allows publishing. */
  | { topic: string }
  /** The name of the event bus; allows putting events. */
  | { bus: string }
  /**
   * The name of the bucket. It allows what the function's use of `defineUpload` needs, for the keys of the upload. If the
   * variable is read elsewhere, `access` says what is allowed: listing keys, reading, writing and deleting objects.
   */
  | { bucket: string; access?: readonly ("list" | "read" | "write" | "delete")[] }
  /** The ARN of the push platform; allows registering devices and sending to them. */
  | { push: string }
  /** The URL for sending messages to WebSocket connections; allows sending. */
  | { websocket: true }
  /** The name of the DynamoDB table of idempotency records, which is created; allows using it. */
  | { idempotency: true }
  /**
   * A secret of AWS Secrets Manager, which is created without a value: `trellis secrets set` puts it.
   * The function needs `loadSources` or `secret` of `@trellis/fn/env`, and may read exactly this
   * secret. An ARN names a secret that exists, `field` a field of its JSON object. With `generate`,
   * `trellis deploy --generate-secrets` puts a random value: for secrets that only your functions know.
   */
  | { secret: true; generate?: boolean; kmsKeyArn?: string }
  | { secret: string; field?: string; kmsKeyArn?: string }
  /**
   * A parameter of the SSM Parameter Store, whose value `trellis secrets set` puts; encrypted if
   * `secret` is true. A name or ARN names a parameter that exists.
   */
  | { parameter: true | string; secret?: boolean; kmsKeyArn?: string }
  /**
   * The URL of the REST API, followed by this path: `{ api: "/auth" }`. It is the domain of the stage,
   * or the address of the gateway.
   */
  | { api: true | string }
  /**
   * The Terraform variable of the same name in lower case. It is sensitive if its name looks like a
   * secret (`AUTH_SECRET`, `API_TOKEN`, …), if `defineEnv` declares it as one, or if `secret` is
   * true.
   */
  | { variable: true; default?: string; secret?: boolean };

/** The settings `infra` with the variables of functions. */
export interface FunctionEnvironments {
  readonly environment?: Readonly<Record<string, EnvironmentValue>>;
  readonly functions?: Readonly<
    Record<string, { readonly environment?: Readonly<Record<string, EnvironmentValue>> }>
  >;
}

/** Lists the variables that the configuration gives to functions, those of all functions first. */
export function listVariables(
  { environment = {}, functions = {} }: FunctionEnvironments,
): [name: string, value: EnvironmentValue][] {
  const own = Object.values(functions).flatMap((each) => Object.entries(each.environment ?? {}));
  return [...Object.entries(environment), ...own];
}

/** Returns the value of a variable that is the same everywhere: a text, or the default of a Terraform variable. */
export function getFixedValue(value: EnvironmentValue): string | undefined {
  if (typeof value === "string") return value;
  return "variable" in value ? value.default : undefined;
}
