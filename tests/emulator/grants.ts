import type { Suite } from "./suite.ts";

/** Rights of functions' roles. */
export interface ComparedGrants {
  /** `NotesGet dynamodb:Query`: used, although no policy of the function grants it. */
  readonly surplus: readonly string[];
  /** Actions that a function is granted and has not used, sorted. */
  readonly unused: readonly string[];
}

/**
 * Compares what roles are granted and what the emulator has allowed them since it began.
 *
 * @param names Names of the functions.
 * @throws {Error} If a role has a managed policy.
 */
export async function compareGrants(
  { emulator, send }: Suite,
  names: readonly string[],
): Promise<ComparedGrants> {
  const log = await emulator.readLog();
  const used = new Set(
    [...log.matchAll(/^allowed (\S+) to \S+:assumed-role\/app-dev-(\w+)\//gm)]
      .filter(([, , name]) => names.includes(name))
      .map(([, action, name]) => `${name} ${action}`),
  );
  const roles = names.map((name) => ({ RoleName: `app-dev-${name}` }));
  const lists = await send(
    ...roles.map((role) => ["iam", "ListRolePolicies", role] as const),
    ...roles.map((role) => ["iam", "ListAttachedRolePolicies", role] as const),
  );
  const attached = lists.flatMap(({ AttachedPolicies = [] }) => AttachedPolicies);
  if (attached.length > 0) throw new Error(`managed policies: ${JSON.stringify(attached)}`);
  const policies = await send(
    ...roles.flatMap((role, index) =>
      (lists[index].PolicyNames as string[]).map((PolicyName) =>
        ["iam", "GetRolePolicy", { ...role, PolicyName }] as const
      )
    ),
  );
  const granted = new Set(policies.flatMap(({ RoleName, PolicyDocument }) => {
    const { Statement } = JSON.parse(decodeURIComponent(PolicyDocument));
    return Statement.flatMap(({ Action }: { Action: string | string[] }) =>
      [Action].flat().map((action) => `${RoleName.slice("app-dev-".length)} ${action}`)
    );
  })) as Set<string>;
  const unused = [...granted].filter((grant) => !used.has(grant));
  return {
    surplus: [...used].filter((action) => !granted.has(action)),
    unused: [...new Set(unused.map((grant) => grant.split(" ")[1]))].sort(),
  };
}
