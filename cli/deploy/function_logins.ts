import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import { decodePercent } from "../../core/http/percent_encoding.ts";
import type { DatabaseConfig } from "../../database/config/config.ts";
import type { Grant } from "../../database/permissions/live_grants.ts";
import type { FunctionLogin } from "../../database/permissions/logins.ts";
import { findSqlState } from "../../errors/driver_error.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { snakeCase } from "../discovery/snake_case.ts";
import { getRoleName } from "../grants/permission_files.ts";
import { shorten } from "../infra/names.ts";
import type { PlannedSource } from "../infra/sources.ts";
import { generateSecret } from "../secrets/secret_values.ts";
import { count, summarizeList } from "../terminal/generated_report.ts";
import { type Deployment, mapSome, StepError } from "./deployment.ts";

/** The parts of a deployment that logins need. */
export type LoginStage = Pick<Deployment, "plan" | "prefix" | "secrets" | "stage">;

/** Where the logins of functions are created. */
export interface LoginServer {
  /** Creates logins, or gives them other passwords. */
  put(logins: readonly FunctionLogin[]): Promise<void>;
  /** Signs in with an address, and compares its privileges with those of a role. */
  tryAddress(address: string, role: string): Promise<Trial>;
}

/** The result of signing in. */
export type Trial =
  /** The address does not answer on this machine. */
  | { readonly isReached: false }
  /** What is wrong with the login; nothing, if it has the privileges of its role. */
  | { readonly isReached: true; readonly problem?: string };

/**
 * Gives each function its own login and puts the address with it into the function's secret.
 * Each function has two logins, of which its secret names one. Only the other one ever gets another
 * password, so functions that still use the address before go on.
 *
 * @param options With `isRotation`, every function gets another password.
 * @returns One line about the result; `undefined` if no function has its own login.
 * @throws {StepError} If a login is refused, or lacks a privilege. Its secret is then not changed.
 */
export async function giveLogins(
  { plan, prefix, secrets, stage }: LoginStage,
  server: LoginServer,
  { isRotation = false }: { readonly isRotation?: boolean } = {},
): Promise<string | undefined> {
  const { logins: sources, config: { permissions } } = plan;
  if (sources.length === 0) return undefined;
  const common = await readCommonAddress(
    { plan, secrets, stage },
    sources[0].variable,
  );
  const providers = new Map(
    plan.sources.functions.map(({ name, database }) => [name, database?.providers]),
  );

  async function planLogin(source: PlannedSource): Promise<PlannedLogin> {
    const owner = source.owner!;
    const role = getRoleName(owner, permissions.rolePrefix);
    const names = getLoginNames(prefix, owner);
    const value = await secrets.read(source);
    const current = value === undefined ? undefined : readLogin(value);
    const isOwn = current !== undefined && names.includes(current.name);
    if (isOwn && !isRotation) {
      const address = writeLogin(common, current);
      const trial = await server.tryAddress(address, role);
      // an address that cannot be tried here is kept only if functions use it
      const isKept = trial.isReached ? trial.problem === undefined : address === value;
      if (isKept) return { source, role, address, trial, isChanged: address !== value };
    }
    const name = current?.name === names[0] ? names[1] : names[0];
    const password = generateSecret();
    // Neon accepts no verifiers: "only supports being given plaintext passwords" (2026-09)
    const isNeon = providers.get(owner)?.includes("branching-pg") === true;
    const login = { name, role, password: isNeon ? password : createScramVerifier(password) };
    return {
      source,
      role,
      login,
      address: writeLogin(common, { name, password }),
      isChanged: true,
    };
  }

  const planned = await mapSome(sources, planLogin);
  const created = planned.flatMap(({ login }) => login ?? []);
  if (created.length > 0) await server.put(created);
  const trials = await mapSome(
    planned,
    async ({ address, role, trial }) => trial ?? await server.tryAddress(address, role),
  );
  for (const [index, trial] of trials.entries()) {
    if (!trial.isReached || trial.problem === undefined) continue;
    throw new StepError(
      `the login ${
        planned[index].login!.name
      } was created, but ${trial.problem}. The functions keep the ` +
        "logins that they have. If a pooler has its own list of users, such as RDS Proxy, set " +
        'permissions.logins to "shared" in trellis.config.ts',
    );
  }
  for (const { source, address } of planned.filter(({ isChanged }) => isChanged)) {
    if (await secrets.put(source, address)) continue;
    throw new StepError(
      `the secret ${
        secrets.getName(source)
      } does not exist: run trellis deploy --stage ${stage.name}`,
    );
  }
  const kept = planned.length - created.length;
  const proof = trials.every(({ isReached }) => isReached)
    ? "each has signed in with its privileges"
    : "not tried, because the functions' address does not answer on this machine";
  return `${count(planned.length, "login")} (${created.length} new, ${kept} unchanged): ${proof}`;
}

/** What a function signs in with from now on. */
interface PlannedLogin {
  readonly source: PlannedSource;
  readonly role: string;
  readonly address: string;
  /** The result for a login that is kept. */
  readonly trial?: Trial;
  /** The login to create or change; omitted if the present one is kept. */
  readonly login?: FunctionLogin;
  /** True if the secret must be put. */
  readonly isChanged: boolean;
}

/**
 * Describes the functions whose grants do not bound them.
 *
 * @returns The end of a line; empty if there are none.
 */
export function describeSharedLogins({ plan: { sharedLogins } }: Pick<Deployment, "plan">): string {
  if (sharedLogins.length === 0) return "";
  return `; ${summarizeList(sharedLogins, MANY)} sign${
    sharedLogins.length === 1 ? "s" : ""
  } in with a shared ` +
    "login, which the grants do not bound";
}

/** Functions that a line names. */
const MANY = 3;

/**
 * Creates what tries addresses on this machine.
 *
 * @param database The database that was migrated, for its provider and its certificates.
 * @param grants What permission files grant.
 */
export function createAddressTrial(
  { provider, ca }: DatabaseConfig & { readonly ca?: string },
  grants: readonly Grant[],
): LoginServer["tryAddress"] {
  return async (connectionString, role) => {
    const [{ withSession }, { findMissingPrivileges }] = await Promise.all([
      import("../../database/providers/client.ts"),
      import("../../database/permissions/logins.ts"),
    ]);
    const { name } = readLogin(connectionString)!;
    const own = grants.filter((grant) => grant.role === role);
    const database = { provider, connectionString, ca, instrument: false } as DatabaseConfig;
    try {
      const missing = await withSession(
        database,
        (session) => findMissingPrivileges(session, name, own),
      );
      return { isReached: true, problem: missing.length === 0 ? undefined : missing.join(", ") };
    } catch (error) {
      if (error instanceof ConfigurationError) return { isReached: true, problem: error.message };
      const sqlState = findSqlState(error);
      if (sqlState === undefined) return { isReached: false };
      return { isReached: true, problem: `the server refuses it (SQLSTATE ${sqlState})` };
    }
  };
}

async function readCommonAddress(
  { plan, secrets, stage }: Omit<LoginStage, "prefix">,
  variable: string,
): Promise<string> {
  const source = plan.secrets.find((each) => each.variable === variable)!;
  const value = await secrets.read(source);
  if (value === undefined) {
    throw new StepError(
      `the logins of functions are made from the address in ${
        secrets.getName(source)
      }, which these ` +
        "credentials may not read: allow secretsmanager:GetSecretValue (or ssm:GetParameters) on it and on " +
        'the secrets below it, or set permissions.logins to "shared" in trellis.config.ts',
    );
  }
  if (readLogin(value) !== undefined) return value;
  throw new StepError(
    `${
      secrets.getName(source)
    } is not an address of the form postgres://user:password@host/database: put ` +
      `it with trellis secrets set ${variable} --stage ${stage.name} < file`,
  );
}

/** Returns the two logins of a function: `notes-dev_notes_get_a` and `…_b`. */
function getLoginNames(prefix: string, functionName: string): readonly [string, string] {
  const name = shorten(`${prefix}_${snakeCase(functionName)}`, MAX_NAME - 2);
  return [`${name}_a`, `${name}_b`];
}

/** Maximum length of a name in bytes (NAMEDATALEN, PostgreSQL reference). */
const MAX_NAME = 63;

/** A login in an address. */
interface AddressLogin {
  readonly name: string;
  readonly password: string;
}

/** Supabase's pooler takes the project after the user: `postgres.abcdefghijkl` (its guide "Connect to Postgres", 2026). */
const isSupabasePooler = (url: URL) => url.hostname.endsWith(".pooler.supabase.com");

function readLogin(address: string): AddressLogin | undefined {
  if (!/^postgres(?:ql)?:\/\//.test(address) || !URL.canParse(address)) return undefined;
  const url = new URL(address);
  // only the address that a person has put can have malformed escapes
  const user = decodePercent(url.username);
  const name = isSupabasePooler(url) ? user.replace(/\.\w+$/, "") : user;
  return { name, password: decodePercent(url.password) };
}

/** Returns the address with another login. */
function writeLogin(address: string, { name, password }: AddressLogin): string {
  const url = new URL(address);
  const [project = ""] = isSupabasePooler(url) ? /\.\w+$/.exec(url.username) ?? [] : [];
  url.username = name + project;
  url.password = password;
  return url.href;
}

const ITERATIONS = 4096;

/**
 * Returns what the server keeps of a password (RFC 5803), so that neither its logs nor its statistics
 * of statements see the password.
 */
function createScramVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, "sha256");
  const sign = (text: string) => createHmac("sha256", salted).update(text).digest();
  const stored = createHash("sha256").update(sign("Client Key")).digest("base64");
  const server = sign("Server Key").toString("base64");
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString("base64")}$${stored}:${server}`;
}
