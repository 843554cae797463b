import type { ClientField, DatabaseClients } from "./database_clients.ts";
import type { InfraSettings } from "../config/infra.ts";
import { Expression, expression, type HclValue, quote, renderPolicy } from "./hcl.ts";
import { createTextVariable, type InfraFunction, type TerraformVariable } from "./infra_plan.ts";
import { isMigrationFunction } from "./migration_function.ts";

/** Kinds of databases that `infra.database` selects. */
export const DATABASE_KINDS = ["distsql", "postgres", "data-api", "none"] as const;

/**
 * The database of a function: a cluster of this project, a server by address, a cluster behind the
 * Data API, or none that the files must know.
 */
export type DatabaseKind = typeof DATABASE_KINDS[number];

/** How a function reaches its database. */
export interface DatabaseAccess {
  readonly kind: DatabaseKind;
  /** Values of environment variables. */
  readonly values: ReadonlyMap<string, HclValue>;
  /** Variables that need a value, and whether it is a secret. */
  readonly required: ReadonlyMap<string, boolean>;
  /** Policies by name. */
  readonly policies: Readonly<Record<string, Expression>>;
  /** True if the function must run in the network of the server. */
  readonly isInNetwork: boolean;
  /** Variable whose value is an address with a login of the function's own. */
  readonly loginVariable?: string;
  /** Variable with the user of the database that a migration function signs in as with IAM. */
  readonly iamUserVariable?: string;
  /** What the files lack, if the function uses a database that they do not describe. */
  readonly warning?: string;
}

const NONE: DatabaseAccess = {
  kind: "none",
  values: new Map(),
  required: new Map(),
  policies: {},
  isInNetwork: false,
};

/** The names that the guides use; they need no client in the sources. */
const USUAL_NAMES: ReadonlyMap<string, ClientField> = new Map([
  ["DATABASE_PROVIDER", "provider"],
  ["DATABASE_ENDPOINT", "endpoint"],
  ["DATABASE_USERNAME", "username"],
]);

/**
 * Plans how a function reaches its database, from the client's configuration in the sources.
 *
 * @param loginVariable Variable with the address of the database that grants are applied to, if
 * functions get their own logins.
 */
export function planDatabaseAccess(
  fn: InfraFunction,
  setting: InfraSettings["database"],
  loginVariable?: string,
): DatabaseAccess {
  const fields = listFields(fn);
  const kind = setting ?? deriveKind(fn.database, fields);
  switch (kind) {
    case "distsql":
      return planCluster(fn, fields);
    case "postgres":
      return planServer(fn, fields, loginVariable);
    case "data-api":
      return planDataApi(fn, fields);
    case "none":
      return NONE;
    case undefined:
      return !connects(fn) ? NONE : {
        ...NONE,
        warning: "uses the database, but the sources do not show which: no roles, policies and " +
          'addresses are generated. Set infra.database to "distsql", "postgres", "data-api" or "none"',
      };
  }
}

function connects(fn: InfraFunction): boolean {
  return fn.usesDatabase || isMigrationFunction(fn);
}

/** Lists the variables that the function reads and a client is configured with. */
function listFields({ variables, database }: InfraFunction): Map<string, ClientField> {
  const known = new Map([...USUAL_NAMES, ...database?.variables ?? []]);
  return new Map(variables.flatMap(({ name }): [string, ClientField][] => {
    const field = known.get(name);
    return field === undefined ? [] : [[name, field]];
  }));
}

function deriveKind(
  clients: DatabaseClients | undefined,
  fields: ReadonlyMap<string, ClientField>,
): DatabaseKind | undefined {
  if (has(fields, "endpoint") || clients?.providers.includes("distsql")) return "distsql";
  return has(fields, "connectionString") || has(fields, "host") ? "postgres" : undefined;
}

function has(fields: ReadonlyMap<string, ClientField>, field: ClientField): boolean {
  return [...fields.values()].includes(field);
}

function planCluster(
  fn: InfraFunction,
  fields: ReadonlyMap<string, ClientField>,
): DatabaseAccess {
  if (!has(fields, "endpoint")) return connects(fn) ? warnUnconfigured("endpoint") : NONE;
  const values = new Map<string, HclValue>();
  for (const [name, field] of fields) {
    if (field === "provider") values.set(name, "distsql");
    if (field === "endpoint") values.set(name, expression("module.database.cluster_endpoint"));
    if (field === "username" && fn.usesDatabase) values.set(name, getRole(fn));
  }
  return { ...NONE, kind: "distsql", values };
}

/** Fields of a server's address, and whether they are secrets. */
const ADDRESS: ReadonlyMap<ClientField, boolean> = new Map([
  ["connectionString", true],
  ["host", false],
  ["password", true],
]);

function planServer(
  fn: InfraFunction,
  fields: ReadonlyMap<string, ClientField>,
  loginVariable = "",
): DatabaseAccess {
  if (!has(fields, "connectionString") && !has(fields, "host")) {
    return connects(fn) ? warnUnconfigured("connectionString or host") : NONE;
  }
  const usesIam = fn.database?.usesIam === true;
  const values = new Map<string, HclValue>();
  const required = new Map<string, boolean>();
  for (const [name, field] of fields) {
    const isSecret = ADDRESS.get(field);
    if (isSecret !== undefined) required.set(name, isSecret);
    if (field === "provider") values.set(name, getServerProvider(fn.database));
    if (field !== "username") continue;
    if (usesIam && fn.usesDatabase) values.set(name, getRole(fn));
    else required.set(name, false);
  }
  const policies: Record<string, Expression> = usesIam && fn.usesDatabase
    ? { [IAM_POLICY]: renderIamPolicy(getRole(fn)) }
    : {};
  const [iamUserVariable] = usesIam && isMigrationFunction(fn)
    ? [...fields].find(([, field]) => field === "username") ?? []
    : [];
  return {
    ...NONE,
    kind: "postgres",
    values,
    required,
    policies,
    isInNetwork: isInNetwork(fn),
    loginVariable: fn.usesDatabase && !isMigrationFunction(fn) &&
        fields.get(loginVariable) === "connectionString"
      ? loginVariable
      : undefined,
    iamUserVariable,
  };
}

/** Neon is reached over the internet. */
function isInNetwork({ database }: InfraFunction): boolean {
  return database?.providers.join() !== "branching-pg";
}

function getServerProvider(clients: DatabaseClients | undefined): string {
  const [only, ...others] = clients?.providers ?? [];
  return only === undefined || others.length > 0 ? "postgres" : only;
}

function planDataApi(fn: InfraFunction, fields: ReadonlyMap<string, ClientField>): DatabaseAccess {
  if (!has(fields, "connectionString")) {
    return connects(fn) ? warnUnconfigured("connectionString") : NONE;
  }
  const values = new Map<string, HclValue>();
  for (const [name, field] of fields) {
    if (field === "provider") values.set(name, "serverless-pg");
    if (field === "connectionString") values.set(name, DATA_API_ADDRESS);
  }
  return { ...NONE, kind: "data-api", values, policies: { "data-api": DATA_API_POLICY } };
}

function warnUnconfigured(what: string): DatabaseAccess {
  return {
    ...NONE,
    warning: `uses the database, but reads no environment variable for ${what} of ` +
      "getDrizzleClient: no access to the database is generated. Read it with getRequiredEnv, or set " +
      'infra.database to "none"',
  };
}

function getRole(fn: InfraFunction): Expression {
  return expression(`local.database_roles[${quote(fn.name)}]`);
}

const DATA_API_ADDRESS = expression(
  '"rds-data://${var.data_api_cluster_arn}?secretArn=${var.data_api_secret_arn}' +
    '&database=${var.data_api_database}"',
);

/** The rights that the Data API needs. Source: RDS user guide, "Using RDS Data API" (2026-11). */
const DATA_API_POLICY = renderPolicy({
  Effect: "Allow",
  Action: [
    "rds-data:BeginTransaction",
    "rds-data:CommitTransaction",
    "rds-data:ExecuteStatement",
    "rds-data:RollbackTransaction",
  ],
  Resource: expression("var.data_api_cluster_arn"),
}, {
  Effect: "Allow",
  Action: "secretsmanager:GetSecretValue",
  Resource: expression("var.data_api_secret_arn"),
});

/** Name of the policy with which a function signs in to RDS. */
export const IAM_POLICY = "connect-database";

/**
 * Renders the right to sign in to RDS as one user.
 *
 * @param user The user of the database.
 */
export function renderIamPolicy(user: HclValue): Expression {
  const name = user instanceof Expression ? `\${${user.hcl}}` : quote(String(user)).slice(1, -1);
  return renderPolicy({
    Effect: "Allow",
    Action: "rds-db:connect",
    Resource: expression(`"\${var.database_user_arn}/${name}"`),
  });
}

/** Terraform variables that {@link DatabaseAccess} refers to. */
export const DATABASE_VARIABLES: Readonly<Record<string, readonly TerraformVariable[]>> = {
  "data-api": [
    createTextVariable(
      "data_api_cluster_arn",
      "ARN of the Aurora cluster, whose Data API is enabled.",
    ),
    createTextVariable(
      "data_api_secret_arn",
      "ARN of the secret with user and password of the database.",
    ),
    {
      ...createTextVariable("data_api_database", "Name of the database in the Aurora cluster."),
      default: "postgres",
    },
  ],
  iam: [
    createTextVariable(
      "database_user_arn",
      "ARN of the database's users without the name: arn:aws:rds-db:<region>:<account>:dbuser:<resource id>.",
    ),
  ],
  network: [
    toList("function_subnet_ids", "Subnets of functions that use the database; empty for no VPC."),
    toList("function_security_group_ids", "Security groups of functions that use the database."),
  ],
};

function toList(name: string, description: string): TerraformVariable {
  return { name, description, type: "list(string)", default: [] };
}

/** Lists the Terraform variables that functions with these accesses need. */
export function listDatabaseVariables(all: Iterable<DatabaseAccess>): TerraformVariable[] {
  const accesses = [...all];
  return [
    ...accesses.some(({ kind }) => kind === "data-api") ? DATABASE_VARIABLES["data-api"] : [],
    ...accesses.some(({ policies, iamUserVariable }) =>
        IAM_POLICY in policies || iamUserVariable !== undefined
      )
      ? DATABASE_VARIABLES.iam
      : [],
    ...accesses.some(({ isInNetwork }) => isInNetwork) ? DATABASE_VARIABLES.network : [],
  ];
}

/** The argument `vpc_config` of a function in the network of the server. */
export const VPC_CONFIG: Expression = expression(
  "length(var.function_subnet_ids) == 0 ? null : {\n" +
    "  subnet_ids         = var.function_subnet_ids\n" +
    "  security_group_ids = var.function_security_group_ids\n}",
);
