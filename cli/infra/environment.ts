import type { EnvironmentValue, InfraSettings } from "../config/infra.ts";
import { isObject } from "../config/settings.ts";
import { type Expression, expression, type HclValue, quote } from "./hcl.ts";
import type { FunctionEnvironment, InfraFunction, TerraformVariable } from "./infra_plan.ts";

/** Terraform names of the resources, by name. */
export interface ResourceNames {
  readonly queue: ReadonlyMap<string, string>;
  readonly topic: ReadonlyMap<string, string>;
  readonly bus: ReadonlyMap<string, string>;
  readonly bucket: ReadonlyMap<string, string>;
  readonly hasWebSocket: boolean;
}

/** The environments of all functions. */
export interface Environments {
  readonly byFunction: ReadonlyMap<string, FunctionEnvironment>;
  readonly variables: readonly TerraformVariable[];
  /** Errors, with the function that they concern. */
  readonly errors: readonly { readonly message: string; readonly functionName?: string }[];
  /** Configured variables that no function reads. */
  readonly unread: readonly string[];
}

/**
 * Variables that every handler of this package reads if they are set (see the environment guide).
 */
const READ_BY_ALL = ["LOG_LEVEL", "METRICS_DISABLED", "METRICS_NAMESPACE", "SERVICE_NAME"] as const;
const READ_BY_API = ["CORS_ALLOW_ORIGIN"] as const;

/** Variables set by the Lambda runtime, or by the function module (`ENVIRONMENT`). */
const PROVIDED =
  /^(?:AWS_.*|_.*|LAMBDA_.*|ENVIRONMENT|LANG|LD_LIBRARY_PATH|NODE_PATH|PATH|PWD|TZ)$/;
/** Variables that match {@link PROVIDED} but may be set. */
const SETTABLE = /^(?:AWS_LAMBDA_(?:EXEC_WRAPPER|MAX_CONCURRENCY)|TZ)$/;

/** Reserved names: variables of the generated files, and arguments of module blocks. */
const RESERVED = new Set([
  ..."environment region manage_api_gateway_account".split(" "),
  ..."source version providers count for_each lifecycle depends_on locals".split(" "),
]);

/** Names whose values must never be written to a file. */
const SURE_SECRET = /(?:SECRET|PASSWORD|PASSWD|PRIVATE_KEY|CREDENTIAL)/;
/** Names whose values are usually secret: Terraform does not show them in plans. */
const SECRET_NAME =
  /(?:SECRET|TOKEN|PASSWORD|PASSWD|PRIVATE|CREDENTIAL|API_?KEY|_KEY$|DSN|(?<!BASE|PUBLIC|SITE|APP|API|FRONTEND|CALLBACK|REDIRECT)_URL$)/;

/**
 * Plans the environment of each function: configured values, values of the infrastructure, and a
 * Terraform variable for each required variable without a value. Optional variables without a value
 * are omitted. Values of secrets are never written.
 *
 * @param functions The functions.
 * @param settings The configuration.
 * @param names The resources.
 * @returns Values, policies and variables.
 */
export function planEnvironments(
  functions: readonly InfraFunction[],
  settings: Pick<InfraSettings, "environment" | "database">,
  names: ResourceNames,
): Environments {
  const shared = settings.environment ?? {};
  const errors: { message: string; functionName?: string }[] = [];
  const read = new Set<string>();
  const wanted = new Map<string, { isSecret: boolean; default?: string; users: string[] }>();
  const byFunction = new Map<string, FunctionEnvironment>();
  const values = functions.map((fn) => {
    const reads = getReads(fn);
    for (const name of reads.keys()) read.add(name);
    return { fn, reads };
  });
  const terraformNames = nameVariables([
    ...read,
    ...functions.flatMap((fn) => Object.keys(fn.settings.environment ?? {})),
  ]);

  function addVariable(
    name: string,
    fn: InfraFunction,
    isSecret: boolean,
    fallback?: string,
  ): Expression {
    const known = wanted.get(name);
    const users = [...known?.users ?? [], fn.name];
    wanted.set(name, {
      isSecret: isSecret || known?.isSecret === true,
      default: fallback ?? known?.default,
      users,
    });
    return expression(`var.${terraformNames.get(name)}`);
  }

  for (const { fn, reads } of values) {
    const result: Record<string, HclValue> = {};
    const policies: Record<string, Expression> = {};
    const usesCluster = settings.database !== "none" && reads.has("DATABASE_ENDPOINT");
    const own = fn.settings.environment ?? {};
    for (const name of [...new Set([...reads.keys(), ...Object.keys(own)])].sort()) {
      const { isRequired = false, isSecret: isDeclared = false } = reads.get(name) ?? {};
      const isSecret = isDeclared || SECRET_NAME.test(name);
      const ownValue = Object.hasOwn(own, name) ? own[name] : undefined;
      const given = ownValue ?? (Object.hasOwn(shared, name) ? shared[name] : undefined);
      if (PROVIDED.test(name) && !SETTABLE.test(name)) {
        if (given !== undefined) {
          errors.push({
            message: `${name} is set by Lambda and cannot be configured`,
            functionName: fn.name,
          });
        }
        continue;
      }
      if (given !== undefined) {
        const path = ownValue === undefined
          ? `infra.environment.${name}`
          : `infra.functions.${fn.name}.environment.${name}`;
        const reference = toReference(given, path, names);
        if (typeof reference === "string") {
          errors.push({ message: reference, functionName: fn.name });
        } else if ((isDeclared || SURE_SECRET.test(name)) && isLiteral(given)) {
          errors.push({
            message:
              `${path} contains a secret in plain text: use { variable: true } and pass the value to Terraform`,
            functionName: fn.name,
          });
        } else if ("variable" in reference) {
          result[name] = addVariable(name, fn, isSecret || reference.isSecret, reference.fallback);
        } else {
          result[name] = reference.value;
          if (reference.policy !== undefined) policies[reference.policy[0]] = reference.policy[1];
        }
        continue;
      }
      const known = usesCluster ? getClusterValue(name, fn) : undefined;
      if (known !== undefined) result[name] = known;
      else if (isRequired && !/^[A-Za-z]\w*$/.test(name)) {
        errors.push({
          message: `${name} is not a valid name of a Lambda environment variable`,
          functionName: fn.name,
        });
      } else if (isRequired) result[name] = addVariable(name, fn, isSecret);
    }
    byFunction.set(fn.name, { values: result, policies, usesCluster });
  }
  return {
    byFunction,
    errors,
    unread: Object.keys(shared).filter((name) => !read.has(name)).sort(),
    variables: [...wanted].map((
      [name, { isSecret, default: fallback, users }],
    ): TerraformVariable => ({
      name: terraformNames.get(name)!,
      description: `${name} of ${describeUsers(users)}.`,
      type: "string",
      default: fallback,
      isSensitive: isSecret,
    })),
  };
}

interface Read {
  readonly isRequired: boolean;
  readonly isSecret: boolean;
}

function getReads(fn: InfraFunction): Map<string, Read> {
  const reads = new Map<string, Read>(fn.variables.map(({ name, ...read }) => [name, read]));
  const sumByPackage = fn.definer === undefined ? [] : [
    ...READ_BY_ALL,
    ...fn.definer === "defineApiHandler" || fn.definer === "createAuthHandler" ? READ_BY_API : [],
  ];
  for (const name of sumByPackage) {
    if (!reads.has(name)) reads.set(name, { isRequired: false, isSecret: false });
  }
  if (fn.options.auth === "bearer") {
    reads.set("API_BEARER_TOKEN", { isRequired: true, isSecret: true });
  }
  return reads;
}

/** Returns the values that the cluster module and the generated roles provide. */
function getClusterValue(name: string, fn: InfraFunction): HclValue | undefined {
  switch (name) {
    case "DATABASE_PROVIDER":
      return "distsql";
    case "DATABASE_ENDPOINT":
      return expression("module.database.cluster_endpoint");
    case "DATABASE_USERNAME":
      return fn.usesDatabase ? expression(`local.database_roles[${quote(fn.name)}]`) : undefined;
    default:
      return undefined;
  }
}

type Reference =
  | { readonly value: HclValue; readonly policy?: readonly [name: string, policy: Expression] }
  | { readonly variable: true; readonly isSecret: boolean; readonly fallback?: string };

/** Checks whether a value, or the default of its variable, is a literal in the configuration. */
function isLiteral(given: EnvironmentValue): boolean {
  return typeof given === "string"
    ? given !== ""
    : "default" in given && given.default !== undefined;
}

/** Converts a configured value to a reference; returns an error message if it is invalid. */
function toReference(
  given: EnvironmentValue,
  place: string,
  names: ResourceNames,
): Reference | string {
  if (typeof given === "string") return { value: given };
  const value: unknown = given;
  const keys = isObject(value) ? Object.keys(value).filter((key) => value[key] !== undefined) : [];
  const kind = keys.find((key) => Object.hasOwn(REFERENCES, key));
  if (!isObject(value) || kind === undefined) {
    return `${place} must be a string, or one of { ${
      Object.keys(REFERENCES).join(" }, { ")
    } }, got ${JSON.stringify(given)}`;
  }
  const { allowed = [] } = REFERENCES[kind];
  const unknownKey = keys.find((key) =>
    key !== kind && !(allowed as readonly string[]).includes(key)
  );
  if (unknownKey !== undefined) {
    return `${place}: remove ${unknownKey}, which ${kind} does not support`;
  }
  return REFERENCES[kind].refer(value, place, names);
}

interface ReferenceKind {
  /** Other keys that are allowed. */
  readonly allowed?: readonly string[];
  refer(
    given: Readonly<Record<string, unknown>>,
    place: string,
    names: ResourceNames,
  ): Reference | string;
}

function toModule(kind: "queue" | "topic" | "bus", output: string, policy: string): ReferenceKind {
  return {
    refer(given, place, names): Reference | string {
      const name = String(given[kind]);
      const id = names[kind].get(name);
      if (id === undefined) return missing(kind, name, place, names[kind]);
      const module = `module.${kind}_${id}`;
      return {
        value: expression(`${module}.${output}`),
        policy: [
          `${policy}-${kind}-${name}`,
          expression(`${module}.${policy.replaceAll("-", "_")}_policy_json`),
        ],
      };
    },
  };
}

const REFERENCES: Readonly<Record<string, ReferenceKind>> = {
  queue: toModule("queue", "queue_url", "send"),
  topic: toModule("topic", "topic_arn", "publish"),
  bus: toModule("bus", "bus_name", "put-events"),
  bucket: {
    allowed: ["access"],
    refer(given, place, names): Reference | string {
      const name = String(given.bucket);
      const id = names.bucket.get(name);
      if (id === undefined) return missing("bucket", name, place, names.bucket);
      const { access = "read-write" } = given;
      if (access !== "read" && access !== "read-write") {
        return `${place}.access must be "read" or "read-write"`;
      }
      const policy = access === "read" ? "read_policy_json" : "read_write_policy_json";
      return {
        value: expression(`module.bucket_${id}.bucket_id`),
        policy: [`${access}-bucket-${name}`, expression(`module.bucket_${id}.${policy}`)],
      };
    },
  },
  websocket: {
    refer(_, place, { hasWebSocket }): Reference | string {
      if (!hasWebSocket) {
        return `${place} refers to the WebSocket API, but websocket/ contains no function`;
      }
      return {
        // not management_endpoint: it depends on the routes, whose functions may read this variable
        value: expression(
          `"\${replace(module.websocket.api_endpoint, "wss://", "https://")}/live"`,
        ),
        policy: [
          "manage-connections",
          expression("module.websocket.manage_connections_policy_json"),
        ],
      };
    },
  },
  variable: {
    allowed: ["default", "secret"],
    refer({ default: fallback, secret = false }, place): Reference | string {
      if (fallback !== undefined && typeof fallback !== "string") {
        return `${place}.default must be a string`;
      }
      if (typeof secret !== "boolean") return `${place}.secret must be true or false`;
      if (secret && fallback !== undefined) return `${place} is secret: remove its default`;
      return { variable: true, isSecret: secret, fallback: fallback as string | undefined };
    },
  },
};

function missing(
  kind: string,
  name: string,
  place: string,
  known: ReadonlyMap<string, string>,
): string {
  const plural = kind === "bus" ? "buses" : `${kind}s`;
  const others = known.size === 0 ? "none exists" : `known names: ${[...known.keys()].join(", ")}`;
  return `${place} refers to the ${kind} ${name}, which does not exist (${others}): add infra.${plural} = { ${
    JSON.stringify(name)
  }: {} }`;
}

/**
 * Returns names of Terraform variables: lower case by convention, unless two names differ only in
 * case. Reserved names get a prefix.
 */
function nameVariables(names: readonly string[]): ReadonlyMap<string, string> {
  const count = new Map<string, number>();
  for (const name of new Set(names)) {
    count.set(name.toLowerCase(), (count.get(name.toLowerCase()) ?? 0) + 1);
  }
  return new Map(names.map((name) => {
    const lower = name.toLowerCase();
    if (RESERVED.has(lower)) return [name, count.get(lower)! > 1 ? `env_${name}` : `env_${lower}`];
    return [name, count.get(lower)! > 1 ? name : lower];
  }));
}

const MANY = 3;

function describeUsers(users: readonly string[]): string {
  const [...sorted] = [...users].sort();
  return sorted.length <= MANY
    ? sorted.join(", ")
    : `${sorted.slice(0, MANY).join(", ")} and ${sorted.length - MANY} more`;
}
