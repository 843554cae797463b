import { mentionsAuth } from "../../cli/discovery/function_files.ts";
import { getLocalAccess, type LocalAuth } from "../../auth/accounts/local_access.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { TestApiKey, TestUser, TestUserOptions } from "../test_client.ts";
import type { TestProject } from "./test_project.ts";

type Row = Readonly<Record<string, unknown>> & { readonly id: string };

/** What better-auth's plugin `apiKey` adds to the API. */
interface ApiKeyApi {
  createApiKey?(request: {
    body: Readonly<Record<string, unknown>>;
  }): Promise<{ readonly key: string }>;
}

let created = 0;

/**
 * Creates a user with a session through the project's auth instance, with its tables and hooks.
 *
 * @throws {ConfigurationError} If no function serves the auth routes, or the project has no plugin
 * for an option.
 */
export async function createTestUser(
  project: TestProject,
  options: TestUserOptions,
): Promise<TestUser> {
  const auth = await openAuth(project);
  const { internalAdapter } = auth.library.context;
  const { organization, role, name = "Test user", fields } = options;
  const email = options.email ?? `user-${++created}@example.com`;
  const isAdminRole = role !== undefined && organization === undefined;
  if (isAdminRole) assertColumn(auth, "user", "role", "the plugin admin");
  const user: Row = await internalAdapter.createUser(
    { email, name, emailVerified: true, ...fields },
    { method: "test" },
  );
  // the project's hooks may set the columns of new users
  const wanted = Object.entries({ ...fields, ...isAdminRole && { role } });
  const changes = wanted.filter(([column, value]) => user[column] !== value);
  if (changes.length > 0) await internalAdapter.updateUser(user.id, Object.fromEntries(changes));
  const organizationId = organization && await joinOrganization(auth, user.id, organization, role);
  const { token } = await internalAdapter.createSession(user.id, false, {
    userAgent: "test",
    ...organizationId && { activeOrganizationId: organizationId },
  });
  return {
    id: user.id,
    email,
    name,
    token,
    headers: { Authorization: `Bearer ${token}` },
    ...organizationId && { organizationId },
  };
}

/** Adds a user to an organization, which is created with its first user. Returns its id. */
async function joinOrganization(
  auth: LocalAuth,
  userId: string,
  slug: string,
  role: string | undefined,
): Promise<string> {
  assertColumn(auth, "session", "activeOrganizationId", "the plugin organization");
  const { adapter } = auth.library.context;
  const createdAt = new Date();
  const known = await adapter.findOne<Row>({
    model: "organization",
    where: [{ field: "slug", value: slug }],
  });
  const organization = known ?? await adapter.create<Record<string, unknown>, Row>({
    model: "organization",
    data: { name: slug, slug, createdAt },
  });
  await adapter.create({
    model: "member",
    data: {
      organizationId: organization.id,
      userId,
      role: role ?? (known === null ? "owner" : "member"),
      createdAt,
    },
  });
  return organization.id;
}

/** Creates an API key with better-auth's plugin. */
export async function createApiKey(
  project: TestProject,
  { id: userId, organizationId }: Pick<TestUser, "id" | "organizationId">,
  options: Readonly<Record<string, unknown>>,
): Promise<TestApiKey> {
  const { library } = await openAuth(project);
  const { createApiKey } = library.api as ApiKeyApi;
  if (createApiKey === undefined) {
    throw new ConfigurationError("createApiKey() needs better-auth's plugin apiKey in the project");
  }
  // the plugin reads the organization if keys belong to organizations
  const { key } = await createApiKey({ body: { userId, organizationId, ...options } });
  return { key, headers: { "x-api-key": key } };
}

async function openAuth(project: TestProject): Promise<LocalAuth> {
  const routes = project.functions.filter(({ kind }) => kind === "api");
  for (const fn of routes.filter(mentionsAuth)) {
    const open = getLocalAccess(await project.load(fn));
    if (open !== undefined) return await open();
  }
  throw new ConfigurationError(
    "Users of tests need the project's auth: no function is created by createAuthHandler. Add one, such as " +
      "api/auth/[...proxy].any.ts",
  );
}

function assertColumn(
  { library }: LocalAuth,
  model: string,
  field: string,
  plugin: string,
): void {
  const { tables } = library.context;
  if (tables[model]?.fields[field] === undefined) {
    throw new ConfigurationError(
      `createTestUser() cannot set it: the project's auth has no column ${field}, which ${plugin} adds`,
    );
  }
}
