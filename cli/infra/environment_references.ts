import { BUCKET_ACCESSES, type BucketAccess, type BucketUse } from "./variable_reads.ts";
import type { EnvironmentValue } from "../discovery/environment_value.ts";
import { isObject } from "../config/setting_rules.ts";
import { type Expression, expression, type HclValue, renderPolicy } from "./hcl.ts";
import type { VariableSource } from "./sources.ts";

/** Terraform names of the resources, by name. */
export interface ResourceNames {
  readonly queue: ReadonlyMap<string, string>;
  readonly topic: ReadonlyMap<string, string>;
  readonly bus: ReadonlyMap<string, string>;
  readonly bucket: ReadonlyMap<string, string>;
  /** Names of push platforms with their Terraform names. */
  readonly push: ReadonlyMap<string, string>;
  readonly hasWebSocket: boolean;
  readonly hasApi: boolean;
}

/** A value, and the policy that the function needs to use it. */
export interface ResourceReference {
  readonly value: HclValue;
  readonly policy?: readonly [name: string, policy: Expression];
}

/** A value of the environment, or a Terraform variable that it becomes. */
export type Reference =
  | ResourceReference
  | { readonly source: VariableSource }
  | { readonly variable: true; readonly isSecret: boolean; readonly fallback?: string };

/**
 * Checks whether a value, or the default of its variable, is a literal in the configuration.
 *
 * @param given The configured value.
 */
export function isLiteral(given: EnvironmentValue): boolean {
  return typeof given === "string"
    ? given !== ""
    : "default" in given && given.default !== undefined;
}

/**
 * Converts a configured value to a reference; returns an error message if it is invalid.
 *
 * @param place The path of the setting, for messages.
 * @param bucketUses What the function does with the bucket, if the sources show it.
 */
export function toReference(
  given: EnvironmentValue,
  place: string,
  names: ResourceNames,
  bucketUses?: readonly BucketUse[],
): Reference | string {
  if (typeof given === "string") return { value: given };
  const value: unknown = given;
  const keys = isObject(value) ? Object.keys(value).filter((key) => value[key] !== undefined) : [];
  // { variable: true, secret: true } and { parameter: true, secret: true } are no secrets of AWS
  const kind = ["variable", "parameter"].find((key) => keys.includes(key)) ??
    keys.find((key) => Object.hasOwn(REFERENCES, key));
  if (!isObject(value) || kind === undefined) {
    return `${place} must be a string, or one of { ${
      Object.keys(REFERENCES).join(" }, { ")
    } }, got ${JSON.stringify(given)}`;
  }
  const unknownKey = keys.find((key) => key !== kind && !OTHER_KEYS[kind]?.includes(key));
  if (unknownKey !== undefined) {
    return `${place}: remove ${unknownKey}, which ${kind} does not support`;
  }
  return REFERENCES[kind](value, place, names, bucketUses);
}

/** Name of the policy of functions that use the table of idempotency records. */
export const IDEMPOTENCY_POLICY = "idempotency";

/** Converts the values of one kind. */
type Refer = (
  given: Readonly<Record<string, unknown>>,
  place: string,
  names: ResourceNames,
  bucketUses?: readonly BucketUse[],
) => Reference | string;

function toModule(kind: "queue" | "topic" | "bus", output: string, policy: string): Refer {
  return (given, place, names) => {
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
  };
}

type ObjectActions = Readonly<Record<Exclude<BucketAccess, "list">, readonly string[]>>;

/** The actions of each access to objects that `defineUpload` needs; `list` concerns the bucket itself. */
const UPLOAD_ACTIONS: ObjectActions = {
  read: ["s3:GetObject"],
  write: ["s3:PutObject"],
  delete: ["s3:DeleteObject"],
};
/** Those of declared accesses: code of a project may send an object in several parts. */
const OBJECT_ACTIONS: ObjectActions = {
  ...UPLOAD_ACTIONS,
  write: ["s3:AbortMultipartUpload", "s3:PutObject"],
};

/** Returns the uses of a bucket: those that are declared, else those that the sources show. */
function readBucketUses(
  access: unknown,
  place: string,
  shown: readonly BucketUse[] | undefined,
): readonly BucketUse[] | string {
  if (access === undefined) {
    return shown ??
      `${place}: the sources do not show what the function does with the bucket, because they read the variable ` +
        'outside of defineUpload. Set access to what it needs, such as ["read"] or ["list", "read", "write", "delete"]';
  }
  const isKnown = (each: unknown) => (BUCKET_ACCESSES as readonly unknown[]).includes(each);
  if (!Array.isArray(access) || access.length === 0 || !access.every(isKnown)) {
    return `${place}.access must be a list of ${
      BUCKET_ACCESSES.join(", ")
    }, such as ["read"], got ${JSON.stringify(access)}`;
  }
  return [{ prefix: "", access }];
}

function renderBucketStatements(
  arn: string,
  uses: readonly BucketUse[],
  actions: ObjectActions,
) {
  const canList = uses.some(({ access }) => access.includes("list"));
  const objects = uses.flatMap(({ prefix, access }) => {
    const Action = (["read", "write", "delete"] as const).flatMap((each) =>
      access.includes(each) ? actions[each] : []
    ).sort();
    const Resource = expression(`"\${${arn}}/${prefix}*"`);
    return Action.length === 0 ? [] : [{ Effect: "Allow", Action, Resource }];
  });
  return [
    ...canList ? [{ Effect: "Allow", Action: "s3:ListBucket", Resource: expression(arn) }] : [],
    ...objects,
  ];
}

const REFERENCES: Readonly<Record<string, Refer>> = {
  queue: toModule("queue", "queue_url", "send"),
  topic: toModule("topic", "topic_arn", "publish"),
  bus: toModule("bus", "bus_name", "put-events"),
  bucket(given, place, names, bucketUses) {
    const name = String(given.bucket);
    const id = names.bucket.get(name);
    if (id === undefined) return missing("bucket", name, place, names.bucket);
    const uses = readBucketUses(given.access, place, bucketUses);
    if (typeof uses === "string") return uses;
    const value = expression(`module.bucket_${id}.bucket_id`);
    const actions = given.access === undefined ? UPLOAD_ACTIONS : OBJECT_ACTIONS;
    const statements = renderBucketStatements(`module.bucket_${id}.bucket_arn`, uses, actions);
    return statements.length === 0
      ? { value }
      : { value, policy: [`bucket-${name}`, renderPolicy(...statements)] };
  },
  push(given, place, names) {
    const name = String(given.push);
    const id = names.push.get(name);
    if (id === undefined) {
      return `${place} refers to the push platform ${name}, which is not in infra.pushPlatforms`;
    }
    return {
      value: expression(`aws_sns_platform_application.${id}.arn`),
      policy: [`push-${name}`, expression(`local.push_policies["${id}"]`)],
    };
  },
  websocket(_, place, { hasWebSocket }) {
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
  api({ api }, place, { hasApi }) {
    if (!hasApi) return `${place} refers to the REST API, but api/ contains no function`;
    if (api === true) return { value: expression("module.api.base_url") };
    return typeof api === "string" && /^\/[\w./~-]*$/.test(api)
      ? { value: expression(`"\${module.api.base_url}${api.replace(/\/$/, "")}"`) }
      : `${place}.api must be true, or a path that begins with a slash`;
  },
  idempotency: () => ({
    value: expression("module.idempotency.table_name"),
    policy: [IDEMPOTENCY_POLICY, expression("module.idempotency.policy_json")],
  }),
  secret: toSecret,
  parameter: toParameter,
  variable({ default: fallback, secret = false }, place) {
    if (fallback !== undefined && typeof fallback !== "string") {
      return `${place}.default must be a string`;
    }
    if (typeof secret !== "boolean") return `${place}.secret must be true or false`;
    if (secret && fallback !== undefined) return `${place} is secret: remove its default`;
    return { variable: true, isSecret: secret, fallback: fallback as string | undefined };
  },
};

/** What is allowed beside the key of a kind. */
const OTHER_KEYS: Readonly<Record<string, readonly string[] | undefined>> = {
  bucket: ["access"],
  secret: ["field", "generate", "kmsKeyArn"],
  parameter: ["secret", "kmsKeyArn"],
  variable: ["default", "secret"],
};

const KEY_ARN = /^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key\/[A-Za-z0-9-]+$/;
const SECRET_ARN = /^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:[\w/+=.@-]+$/;
const PARAMETER = /^(?:arn:aws[a-z-]*:ssm:[a-z0-9-]+:\d{12}:parameter)?\/?[\w./-]+$/;

function toSecret(
  { secret, field, generate = false, kmsKeyArn }: Readonly<Record<string, unknown>>,
  place: string,
): Reference | string {
  if (secret !== true && !(typeof secret === "string" && SECRET_ARN.test(secret))) {
    return `${place}.secret must be true, or the ARN of a secret of AWS Secrets Manager`;
  }
  if (field !== undefined && (typeof field !== "string" || !/^[^#]+$/.test(field))) {
    return `${place}.field must be the name of a field of a JSON secret`;
  }
  if (field !== undefined && secret === true) {
    return `${place}.field needs the ARN of a secret in ${place}.secret`;
  }
  if (typeof generate !== "boolean") return `${place}.generate must be true or false`;
  if (generate && secret !== true) return `${place}.generate needs secret: true`;
  if (kmsKeyArn !== undefined && !KEY_ARN.test(String(kmsKeyArn))) {
    return `${place}.kmsKeyArn must be the ARN of a KMS key`;
  }
  return {
    source: {
      service: "secretsmanager",
      existing: secret === true ? undefined : secret,
      field: field as string | undefined,
      isGenerated: generate,
      kmsKeyArn: kmsKeyArn as string | undefined,
      isSecret: true,
    },
  };
}

function toParameter(
  { parameter, secret = false, kmsKeyArn }: Readonly<Record<string, unknown>>,
  place: string,
): Reference | string {
  if (parameter !== true && !(typeof parameter === "string" && PARAMETER.test(parameter))) {
    return `${place}.parameter must be true, or the name or ARN of a parameter of SSM`;
  }
  if (typeof secret !== "boolean") return `${place}.secret must be true or false`;
  if (kmsKeyArn !== undefined && !(secret && KEY_ARN.test(String(kmsKeyArn)))) {
    return `${place}.kmsKeyArn must be the ARN of a KMS key, and needs secret: true`;
  }
  return {
    source: {
      service: "ssm",
      existing: parameter === true ? undefined : parameter,
      kmsKeyArn: kmsKeyArn as string | undefined,
      isSecret: secret,
    },
  };
}

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
