import type { EnvironmentValue, InfraSettings } from "../config/infra.ts";
import { isObject } from "../config/settings.ts";
import { type Expression, expression, type HclValue, quote } from "./hcl.ts";
import type { FunctionEnvironment, InfraFunction, TerraformVariable } from "./infra_plan.ts";

/** Resources by name, with their names in Terraform. */
export interface ResourceNames {
  readonly queue: ReadonlyMap<string, string>;
  readonly topic: ReadonlyMap<string, string>;
  readonly bus: ReadonlyMap<string, string>;
  readonly bucket: ReadonlyMap<string, string>;
  readonly hasWebSocket: boolean;
}

/** Environments of all functions. */
export interface Environments {
  readonly byFunction: ReadonlyMap<string, FunctionEnvironment>;
  readonly variables: readonly TerraformVariable[];
  /** What is wrong, with the function where there is one. */
  readonly faults: readonly { readonly message: string; readonly functionName?: string }[];
  /** Names that the configuration gives a value and no function reads. */
  readonly unread: readonly string[];
}

/** What every handler of the package reads, when it is set (the environment guide's table). */
const READ_BY_ALL = ["LOG_LEVEL", "METRICS_DISABLED", "METRICS_NAMESPACE", "SERVICE_NAME"] as const;
const READ_BY_API = ["CORS_ALLOW_ORIGIN"] as const;

/** Set by Lambda's runtime, or by the function module (`ENVIRONMENT`). */
const PROVIDED =
  /^(?:AWS_.*|_.*|LAMBDA_.*|ENVIRONMENT|LANG|LD_LIBRARY_PATH|NODE_PATH|PATH|PWD|TZ)$/;
/** May be set in spite of that. */
const SETTABLE = /^(?:AWS_LAMBDA_(?:EXEC_WRAPPER|MAX_CONCURRENCY)|TZ)$/;

/** Names of variables that the generated files have anyway, and of arguments that a module's call has. */
const TAKEN = new Set([
  ..."environment region manage_api_gateway_account".split(" "),
  ..."source version providers count for_each lifecycle depends_on locals".split(" "),
]);

/** Names whose values must not stand in a file. */
const SURE_SECRET = /(?:SECRET|PASSWORD|PASSWD|PRIVATE_KEY|CREDENTIAL)/;
/** Names whose values are mostly secret: Terraform keeps them out of plans. */
const SECRET_NAME =
  /(?:SECRET|TOKEN|PASSWORD|PASSWD|PRIVATE|CREDENTIAL|API_?KEY|_KEY$|DSN|(?<!BASE|PUBLIC|SITE|APP|API|FRONTEND|CALLBACK|REDIRECT)_URL$)/;

/**
 * Works out what each function's environment is: what the configuration gives, what is known of the infrastructure, and for what
 * must be set otherwise a Terraform variable. What may be unset and has no value is left out. No value of a secret is written.
 *
 * @param functions The functions.
 * @param settings The configuration.
 * @param names The resources that there are.
 * @returns Values, policies and variables.
 */
export function planEnvironments(
  functions: readonly InfraFunction[],
  settings: Pick<InfraSettings, "environment" | "database">,
  names: ResourceNames,
): Environments {
  const shared = settings.environment ?? {};
  const faults: { message: string; functionName?: string }[] = [];
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

  function want(name: string, fn: InfraFunction, isSecret: boolean, fallback?: string): Expression {
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
          faults.push({
            message: `${name} is set by Lambda and cannot be given`,
            functionName: fn.name,
          });
        }
        continue;
      }
      if (given !== undefined) {
        const place = ownValue === undefined
          ? `infra.environment.${name}`
          : `infra.functions.${fn.name}.environment.${name}`;
        const reference = referTo(given, place, names);
        if (typeof reference === "string") {
          faults.push({ message: reference, functionName: fn.name });
        } else if ((isDeclared || SURE_SECRET.test(name)) && isLiteral(given)) {
          faults.push({
            message:
              `${place} holds a secret in clear: give { variable: true }, and the value when Terraform runs`,
            functionName: fn.name,
          });
        } else if ("variable" in reference) {
          result[name] = want(name, fn, isSecret || reference.isSecret, reference.fallback);
        } else {
          result[name] = reference.value;
          if (reference.policy !== undefined) policies[reference.policy[0]] = reference.policy[1];
        }
        continue;
      }
      const known = usesCluster ? clusterValue(name, fn) : undefined;
      if (known !== undefined) result[name] = known;
      else if (isRequired && !/^[A-Za-z]\w*$/.test(name)) {
        faults.push({
          message: `${name} cannot be the name of a variable in Lambda`,
          functionName: fn.name,
        });
      } else if (isRequired) result[name] = want(name, fn, isSecret);
    }
    byFunction.set(fn.name, { values: result, policies, usesCluster });
  }
  return {
    byFunction,
    faults,
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
  const byPackage = fn.definer === undefined ? [] : [
    ...READ_BY_ALL,
    ...fn.definer === "defineApiHandler" || fn.definer === "createAuthHandler" ? READ_BY_API : [],
  ];
  for (const name of byPackage) {
    if (!reads.has(name)) reads.set(name, { isRequired: false, isSecret: false });
  }
  if (fn.options.auth === "bearer") {
    reads.set("API_BEARER_TOKEN", { isRequired: true, isSecret: true });
  }
  return reads;
}

/** What the cluster's module and the generated roles give. */
function clusterValue(name: string, fn: InfraFunction): HclValue | undefined {
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

/** Checks whether a value, or the default of its variable, stands in the configuration as a text. */
function isLiteral(given: EnvironmentValue): boolean {
  return typeof given === "string"
    ? given !== ""
    : "default" in given && given.default !== undefined;
}

/** What a configured value stands for, or what is wrong with it. */
function referTo(given: EnvironmentValue, place: string, names: ResourceNames): Reference | string {
  if (typeof given === "string") return { value: given };
  const value: unknown = given;
  const keys = isObject(value) ? Object.keys(value).filter((key) => value[key] !== undefined) : [];
  const kind = keys.find((key) => Object.hasOwn(REFERENCES, key));
  if (!isObject(value) || kind === undefined) {
    return `${place} must be a text, or one of { ${Object.keys(REFERENCES).join(" }, { ")} }, got ${
      JSON.stringify(given)
    }`;
  }
  const { also = [] } = REFERENCES[kind];
  const stranger = keys.find((key) => key !== kind && !(also as readonly string[]).includes(key));
  if (stranger !== undefined) return `${place} has ${stranger} beside ${kind}: take it out`;
  return REFERENCES[kind].refer(value, place, names);
}

interface ReferenceKind {
  /** What may stand beside it. */
  readonly also?: readonly string[];
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
    also: ["access"],
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
        return `${place} names the WebSocket API, but there is no function in websocket/`;
      }
      return {
        // not management_endpoint: it waits for the routes, whose functions may read this
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
    also: ["default", "secret"],
    refer({ default: fallback, secret = false }, place): Reference | string {
      if (fallback !== undefined && typeof fallback !== "string") {
        return `${place}.default must be a text`;
      }
      if (typeof secret !== "boolean") return `${place}.secret must be true or false`;
      if (secret && fallback !== undefined) return `${place} is secret: take its default out`;
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
  const others = known.size === 0 ? "there is none" : `known are ${[...known.keys()].join(", ")}`;
  return `${place} names the ${kind} ${name}, but ${others}: add infra.${plural} = { ${
    JSON.stringify(name)
  }: {} }`;
}

/** Names in lower case, as Terraform's style wants them; as they stand where two differ in case only, or one is taken. */
function nameVariables(names: readonly string[]): ReadonlyMap<string, string> {
  const count = new Map<string, number>();
  for (const name of new Set(names)) {
    count.set(name.toLowerCase(), (count.get(name.toLowerCase()) ?? 0) + 1);
  }
  return new Map(names.map((name) => {
    const lower = name.toLowerCase();
    if (TAKEN.has(lower)) return [name, count.get(lower)! > 1 ? `env_${name}` : `env_${lower}`];
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
