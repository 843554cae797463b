import {
  CONFIGURATION_SET_VARIABLE,
  type EnvironmentVariable,
  JOBS_QUEUE_VARIABLE,
} from "./variable_reads.ts";
import type { InfraSettings } from "../config/infra.ts";
import {
  type DatabaseAccess,
  IAM_POLICY,
  listDatabaseVariables,
  planDatabaseAccess,
  renderIamPolicy,
} from "./database_access.ts";
import {
  isLiteral,
  type ResourceNames,
  type ResourceReference,
  toReference,
} from "./environment_references.ts";
import { type Expression, expression, type HclValue } from "./hcl.ts";
import {
  createTextVariable,
  type FunctionEnvironment,
  type InfraFunction,
  listRoutes,
  type Problem,
  type TerraformVariable,
} from "./infra_plan.ts";
import { CHANGES_POLICY, CHANGES_READER, runsInsertedJobs } from "./job_files.ts";
import { CONFIGURATION_SET, MAIL_POLICY } from "./mail_file.ts";
import {
  type PlannedSource,
  renderSourcePolicy,
  renderSourceValue,
  SOURCES_POLICY,
  type VariableSource,
} from "./sources.ts";
import { SOURCE_SUFFIX } from "../../env/source_reference.ts";
import type { EnvironmentValue } from "../discovery/environment_value.ts";
import { DEFINERS } from "./read_functions.ts";
import { getResource } from "./resources.ts";
import { summarizeList } from "../terminal/generated_report.ts";

/** Variables set by the Lambda runtime, or by the function module (`ENVIRONMENT`). */
const PROVIDED = /^(?:AWS_.*|_.*|LAMBDA_.*|ENVIRONMENT|LANG|LD_LIBRARY_PATH|NODE_PATH|PATH|PWD)$/;
/** Variables that match {@link PROVIDED} but may be set. */
const SETTABLE = /^AWS_LAMBDA_(?:EXEC_WRAPPER|MAX_CONCURRENCY)$/;

/** Checks for variables that Lambda or the function module sets. */
function isProvided(name: string): boolean {
  return PROVIDED.test(name) && !SETTABLE.test(name);
}

/** Names whose values must never be written to a file. */
const SURE_SECRET = /(?:SECRET|PASSWORD|PASSWD|PRIVATE_KEY|CREDENTIAL)/;
/** Names whose values are usually secret: Terraform does not show them in plans. */
const SECRET_NAME =
  /(?:SECRET|TOKEN|PASSWORD|PASSWD|PRIVATE|CREDENTIAL|API_?KEY|_KEY$|DSN|(?<!BASE|PUBLIC|SITE|APP|API|FRONTEND|CALLBACK|REDIRECT)_URL$)/;

/** Secrets that can be any random text, because only functions of the project know them. */
const OWN_SECRETS: readonly string[] = [
  "API_BEARER_TOKEN",
  "AUTH_SECRET",
  "BETTER_AUTH_SECRET",
  "ORIGIN_VERIFY_SECRET",
];

/** Reserved names: variables of the generated files, and arguments of module blocks. */
const RESERVED = new Set([
  ..."environment region manage_api_gateway_account domain_name hosted_zone_id certificate_arn"
    .split(" "),
  ..."data_api_cluster_arn data_api_secret_arn data_api_database database_user_arn".split(" "),
  ..."cdn_domain_name cdn_certificate_arn alarm_topic_arns manage_mail_identity".split(" "),
  ..."function_subnet_ids function_security_group_ids".split(" "),
  ..."source version providers count for_each lifecycle depends_on locals".split(" "),
]);

/** Variables of image repositories and push platforms. */
const RESERVED_PATTERN = /^push_\w+_key$|_image_tag$/;

/**
 * Returns names of Terraform variables: lower case by convention, unless two names differ only in
 * case. Reserved names get a prefix.
 *
 * @param names Names of environment variables.
 */
function nameVariables(names: readonly string[]): ReadonlyMap<string, string> {
  const count = new Map<string, number>();
  for (const name of new Set(names)) {
    count.set(name.toLowerCase(), (count.get(name.toLowerCase()) ?? 0) + 1);
  }
  return new Map(names.map((name) => {
    const lower = name.toLowerCase();
    if (RESERVED.has(lower) || RESERVED_PATTERN.test(lower)) {
      return [name, count.get(lower)! > 1 ? `env_${name}` : `env_${lower}`];
    }
    return [name, count.get(lower)! > 1 ? name : lower];
  }));
}

/** The environments of all functions. */
export interface Environments {
  readonly byFunction: ReadonlyMap<string, FunctionEnvironment>;
  readonly variables: readonly TerraformVariable[];
  /** Secrets and parameters that the functions read, by variable. */
  readonly sources: readonly PlannedSource[];
  /** The addresses with which single functions sign in to the database, by function. */
  readonly logins: readonly PlannedSource[];
  /** Functions that sign in to the database with the login of others. */
  readonly sharedLogins: readonly string[];
  /** Errors, with the function that they concern. */
  readonly errors: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** Names of Terraform variables, by environment variable. */
  readonly terraformNames: ReadonlyMap<string, string>;
  /** Configured variables that no function reads. */
  readonly unread: readonly string[];
}

/**
 * Plans the environment of each function: configured values, values of the infrastructure, and a
 * Terraform variable for each required variable without a value. Optional variables without a value
 * are omitted. Values of secrets are never written.
 *
 * @param loginVariable Variable with the address of the database that grants are applied to, if
 * functions get their own logins.
 * @returns Values, policies and variables.
 */
export function planEnvironments(
  functions: readonly InfraFunction[],
  settings: Pick<InfraSettings, "buckets" | "environment" | "database" | "mail">,
  resourceNames: ResourceNames,
  loginVariable?: string,
): Environments {
  const errors: Problem[] = [];
  const wanted = new Map<string, WantedVariable>();
  const sourcesByName = new Map<string, PlannedSource>();
  const logins: PlannedSource[] = [];
  const accesses = new Map(
    functions.map((fn) => [fn, planDatabaseAccess(fn, settings.database, loginVariable)]),
  );
  const readsByFunction = new Map(
    functions.map((fn) => [fn, listReads(fn, accesses.get(fn)!.required)]),
  );
  const read = new Set([...readsByFunction.values()].flatMap((reads) => [...reads.keys()]));
  const terraformNames = nameVariables([
    ...read,
    ...functions.flatMap((fn) => Object.keys(fn.settings.environment ?? {})),
  ]);
  const byFunction = new Map(functions.map((fn) => [fn.name, planFunction(fn)]));
  const shared = Object.keys(settings.environment ?? {});
  checkOrigins();
  return {
    byFunction,
    errors,
    terraformNames,
    unread: shared.filter((name) => !read.has(name)).sort(),
    sources: [...sourcesByName.values()].sort((a, b) => a.variable < b.variable ? -1 : 1),
    logins,
    sharedLogins: listSharedLogins(),
    variables: [...listWanted(), ...listDatabaseVariables(accesses.values())],
    warnings: functions.flatMap((fn) => {
      const { warning } = accesses.get(fn)!;
      return warning === undefined
        ? []
        : [{ message: `${fn.name} ${warning}`, functionName: fn.name }];
    }),
  };

  /** Checks that origins of buckets name environment variables that stages set. */
  function checkOrigins(): void {
    const { buckets = {} } = settings;
    for (const [bucket, { corsAllowedOrigins = [] }] of Object.entries(buckets)) {
      for (const origin of corsAllowedOrigins) {
        if (typeof origin === "string" || wanted.has(origin.variable)) continue;
        errors.push({
          message:
            `infra.buckets.${bucket}.corsAllowedOrigins has the variable ${origin.variable}, ` +
            "which stages do not set: read it in a function, and set " +
            `infra.environment.${origin.variable} to { variable: true }`,
        });
      }
    }
  }

  function listSharedLogins(): string[] {
    const own = new Set(logins.map(({ owner }) => owner));
    return functions.filter((fn) => {
      const { kind, policies } = accesses.get(fn)!;
      return (kind === "postgres" || kind === "data-api") && fn.usesDatabase &&
        !(IAM_POLICY in policies) && !own.has(fn.name);
    }).map(({ name }) => name);
  }

  function planFunction(fn: InfraFunction): FunctionEnvironment {
    const reads = readsByFunction.get(fn)!;
    const access = accesses.get(fn)!;
    const values: Record<string, HclValue> = {};
    const policies: Record<string, Expression> = { ...access.policies };
    const names = new Set([...reads.keys(), ...Object.keys(fn.settings.environment ?? {})]);
    const sources: PlannedSource[] = [];
    for (const name of [...names].sort()) {
      const found = planVariable(fn, name, access);
      if (found === undefined) continue;
      if ("service" in found) {
        const source = name === access.loginVariable ? chooseLogin(fn, found) : found;
        values[name + SOURCE_SUFFIX] = renderSourceValue(source);
        sources.push(source);
        continue;
      }
      values[name] = found.value;
      if (found.policy !== undefined) policies[found.policy[0]] = found.policy[1];
    }
    const { iamUserVariable } = access;
    const user = iamUserVariable && values[iamUserVariable];
    if (user !== undefined) policies[IAM_POLICY] = renderIamPolicy(user);
    if (fn.sendsBySes) addMailPolicy(fn, policies);
    if (runsInsertedJobs(fn)) policies[CHANGES_POLICY] = CHANGES_READER;
    if (sources.length > 0) policies[SOURCES_POLICY] = renderSourcePolicy(sources);
    const { kind, isInNetwork } = access;
    return { values, policies, usesCluster: kind === "distsql", isInNetwork };
  }

  /** Returns the function's own address. A secret that others manage remains what it is. */
  function chooseLogin({ id, name }: InfraFunction, shared: PlannedSource): PlannedSource {
    if (shared.existing !== undefined) return shared;
    const own = {
      ...shared,
      isSecret: true,
      id: `${shared.id}__${id}`,
      owner: name,
      users: [name],
    };
    logins.push(own);
    return own;
  }

  function addMailPolicy(fn: InfraFunction, policies: Record<string, Expression>): void {
    if (settings.mail?.identity === undefined) {
      fail(
        fn,
        `${fn.name} sends mails through Amazon SES: add infra.mail = { identity: "example.com" }, ` +
          `the domain or the address that they are sent from`,
      );
    }
    policies[MAIL_POLICY] = expression("local.mail_policy_json");
  }

  /** Returns the value of a variable; `undefined` if it is left out, or after an error. */
  function planVariable(
    fn: InfraFunction,
    name: string,
    access: DatabaseAccess,
  ): ResourceReference | PlannedSource | undefined {
    const given = findGiven(name, fn, settings.environment ?? {}, functions);
    if (isProvided(name)) {
      return given && fail(fn, `${name} is set by Lambda and cannot be configured`);
    }
    if (given !== undefined) return planGiven(fn, name, given);
    if (name === CONFIGURATION_SET_VARIABLE && fn.sendsBySes) {
      return { value: expression(CONFIGURATION_SET) };
    }
    const known = access.values.get(name);
    if (known !== undefined) return { value: known };
    const read = readsByFunction.get(fn)!.get(name);
    if (read?.isRequired !== true) return undefined;
    if (!/^[A-Za-z]\w*$/.test(name)) {
      return fail(fn, `${name} is not a valid name of a Lambda environment variable`);
    }
    const isSecret = read.isSecret || SECRET_NAME.test(name);
    return isSecret && functions.some((each) => canLoad(each, name))
      ? addSource(fn, name, { service: "secretsmanager", isSecret }, name)
      : addVariable(fn, name, isSecret);
  }

  /** Returns true if the code of a function declares that the value can be any random text. */
  function isDeclaredRandom(name: string): boolean {
    return [...readsByFunction.values()].some((reads) => reads.get(name)?.isGenerated === true);
  }

  /** Returns true for a function that reads the variable and loads sources. */
  function canLoad(fn: InfraFunction, name: string): boolean {
    const read = readsByFunction.get(fn)!.get(name);
    return read !== undefined && (fn.loadsSources || read.isLoaded);
  }

  function addSource(
    fn: InfraFunction,
    name: string,
    source: VariableSource,
    path: string,
  ): PlannedSource | undefined {
    const read = readsByFunction.get(fn)!.get(name);
    if (read !== undefined && !canLoad(fn, name)) {
      return fail(
        fn,
        `${name} is read from ${source.service === "ssm" ? "SSM" : "AWS Secrets Manager"}, but ` +
          `${fn.name} does not load it: write await loadSources() at the start of ` +
          `${
            read.file ?? "the file that reads it"
          } (import { loadSources } from "@trellis/fn/env")`,
      );
    }
    const known = sourcesByName.get(name);
    const planned: PlannedSource = {
      ...source,
      isGenerated: source.existing === undefined && source.isSecret &&
        (source.isGenerated === true || OWN_SECRETS.includes(name) || isDeclaredRandom(name)),
      variable: name,
      id: terraformNames.get(name)!,
      users: [...known?.users ?? [], fn.name],
    };
    const isManaged = source.existing === undefined && known?.existing === undefined;
    if (
      known !== undefined && isManaged &&
      (known.kmsKeyArn !== source.kmsKeyArn || known.service !== source.service)
    ) {
      return fail(
        fn,
        `${path} differs from the setting of ${known.users[0]}: use one for both`,
      );
    }
    // an existing source of one function does not replace the stage's source for others
    if (known === undefined || known.existing !== undefined || isManaged) {
      sourcesByName.set(name, planned);
    }
    return planned;
  }

  function planGiven(
    fn: InfraFunction,
    name: string,
    { value, path }: GivenValue,
  ): ResourceReference | PlannedSource | undefined {
    const { bucketUses } = readsByFunction.get(fn)!.get(name) ?? {};
    const reference = toReference(value, path, resourceNames, bucketUses);
    if (typeof reference === "string") return fail(fn, reference);
    const isDeclared = readsByFunction.get(fn)!.get(name)?.isSecret === true;
    if ((isDeclared || SURE_SECRET.test(name)) && isLiteral(value)) {
      return fail(
        fn,
        `${path} contains a secret in plain text: use { ` +
          `secret: true } and put the value with trellis secrets set`,
      );
    }
    if ("source" in reference) return addSource(fn, name, reference.source, path);
    if (!("variable" in reference)) return reference;
    const isSecret = isDeclared || SECRET_NAME.test(name) || reference.isSecret;
    return addVariable(fn, name, isSecret, reference.fallback);
  }

  function addVariable(
    fn: InfraFunction,
    name: string,
    isSecret: boolean,
    fallback?: string,
  ): ResourceReference {
    const known = wanted.get(name);
    wanted.set(name, {
      isSecret: isSecret || known?.isSecret === true,
      default: fallback ?? known?.default,
      users: [...known?.users ?? [], fn.name],
    });
    return { value: expression(`var.${terraformNames.get(name)}`) };
  }

  function listWanted(): TerraformVariable[] {
    return [...wanted].map(([name, { isSecret, default: fallback, users }]) => ({
      ...createTextVariable(
        terraformNames.get(name)!,
        `${name} of ${summarizeList([...users].sort(), MANY)}.`,
      ),
      default: fallback,
      isSensitive: isSecret,
    }));
  }

  function fail({ name }: InfraFunction, message: string): undefined {
    errors.push({ message, functionName: name });
  }
}

/** A configured value and the path of its setting. */
interface GivenValue {
  readonly value: EnvironmentValue;
  readonly path: string;
}

/**
 * Finds the value of a variable: the function's own, else the shared one, else the queue of jobs.
 *
 * @param fn The function that reads it.
 * @param shared The setting `infra.environment`.
 */
function findGiven(
  name: string,
  fn: InfraFunction,
  shared: Readonly<Record<string, EnvironmentValue>>,
  functions: readonly InfraFunction[],
): GivenValue | undefined {
  const own = fn.settings.environment ?? {};
  if (Object.hasOwn(own, name) && own[name] !== undefined) {
    return { value: own[name], path: `infra.functions.${fn.name}.environment.${name}` };
  }
  const path = `infra.environment.${name}`;
  if (Object.hasOwn(shared, name) && shared[name] !== undefined) {
    return { value: shared[name], path };
  }
  const queue = name === JOBS_QUEUE_VARIABLE ? findJobsQueue(functions) : undefined;
  return queue === undefined ? undefined : { value: { queue }, path };
}

/** Returns the name of the queue of jobs, unless several functions consume one. */
function findJobsQueue(functions: readonly InfraFunction[]): string | undefined {
  const consumers = functions.filter(({ definer }) => definer === "defineJobQueueHandler");
  return consumers.length === 1 ? getResource(consumers[0]) : undefined;
}

/**
 * Variables that every handler of this package reads if they are set (see the environment guide).
 */
const READ_BY_ALL = [
  "LOG_LEVEL",
  "METRICS_DIMENSIONS",
  "METRICS_DISABLED",
  "METRICS_IN_SUMMARY",
  "METRICS_NAMESPACE",
  "SERVICE_NAME",
] as const;
const READ_BY_API = ["CORS_ALLOW_ORIGIN"] as const;

/** How a function reads a variable. */
type Read = Omit<EnvironmentVariable, "name">;

/**
 * Lists the variables that a function reads, in its sources and in this package.
 *
 * @param database Variables of its database, and whether each is a secret.
 */
function listReads(
  fn: InfraFunction,
  database: ReadonlyMap<string, boolean>,
): Map<string, Read> {
  const reads = new Map<string, Read>(fn.variables.map(({ name, ...read }) => [name, read]));
  for (const [name, isSecret] of database) {
    const read = reads.get(name)!;
    reads.set(name, { ...read, isRequired: true, isSecret: isSecret || read.isSecret });
  }
  const byPackage = fn.definer === undefined ? [] : [
    ...READ_BY_ALL,
    ...DEFINERS.api.includes(fn.definer) ? READ_BY_API : [],
  ];
  for (const name of byPackage) {
    if (!reads.has(name)) reads.set(name, { isRequired: false, isSecret: false, isLoaded: false });
  }
  if (listRoutes([fn]).some(({ options }) => options.auth === "bearer")) {
    reads.set("API_BEARER_TOKEN", { isRequired: true, isSecret: true, isLoaded: false });
  }
  return reads;
}

/** A Terraform variable and the functions that read it. */
interface WantedVariable {
  readonly isSecret: boolean;
  readonly default?: string;
  readonly users: readonly string[];
}

/** Functions that the description of a variable names. */
const MANY = 3;
