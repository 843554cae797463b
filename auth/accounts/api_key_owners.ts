import type { BetterAuthPlugin } from "better-auth";
import { type BanColumns, isBanned } from "../config/ban.ts";
import type { BetterAuthLibrary } from "../better_auth/load_better_auth.ts";

interface Condition {
  readonly field: string;
  readonly value: unknown;
}

/** The methods of better-auth's adapter that delete rows. */
interface Adapter {
  delete(input: { model: string; where: Condition[] }): Promise<void>;
  deleteMany(input: { model: string; where: Condition[] }): Promise<number>;
  findOne(input: { model: string; where: Condition[] }): Promise<object | null>;
  transaction<T>(run: (inner: Adapter) => Promise<T>): Promise<T>;
}

/** Models whose rows own API keys. */
const OWNERS: readonly string[] = ["user", "organization"];

/**
 * Makes an adapter delete the API keys of a user or an organization after their row.
 * better-auth's plugin leaves them.
 *
 * @param factory The function that creates the adapter.
 * @param sharesIds True if a user and an organization can have the same id, with `generateId: "serial"`. The keys of two owners
 * with one id cannot be distinguished, and stay: checks of keys refuse keys without an owner.
 */
export function deleteOwnedKeys<Options, T extends object>(
  factory: (options: Options) => T,
  sharesIds: boolean,
): (options: Options) => T {
  return function createAdapter(options) {
    const adapter = factory(options);
    watchDeletes(adapter as Adapter, sharesIds);
    return adapter;
  };
}

function watchDeletes(adapter: Adapter, sharesIds: boolean): Adapter {
  const { delete: remove, deleteMany, transaction } = adapter;
  adapter.delete = async function deleteWithKeys(input) {
    await remove(input);
    const [{ field, value }, ...others] = input.where;
    if (!OWNERS.includes(input.model) || field !== "id" || others.length > 0) return;
    const model = OWNERS.find((each) => each !== input.model)!;
    if (sharesIds && await adapter.findOne({ model, where: [{ field, value }] }) !== null) return;
    await deleteMany({ model: "apikey", where: [{ field: "referenceId", value }] });
  };
  adapter.transaction = (run) => transaction((inner) => run(watchDeletes(inner, sharesIds)));
  return adapter;
}

type Hook = NonNullable<NonNullable<BetterAuthPlugin["hooks"]>["before"]>[number];

/** What the plugin's hook returns for a key: a response, or the changed context of the endpoint. */
interface KeyResult {
  readonly response?: {
    readonly user?: object;
    readonly context?: { readonly context?: { readonly session?: { readonly user?: object } } };
  };
}

/**
 * Returns a plugin whose sessions of API keys (`enableSessionForAPIKeys`) are refused while the owner
 * of the key is banned. Other plugins are returned unchanged.
 *
 * @param plugin A plugin of better-auth.
 * @param library better-auth.
 */
export function refuseBannedOwners(
  plugin: BetterAuthPlugin,
  { APIError }: Pick<BetterAuthLibrary, "APIError">,
): BetterAuthPlugin {
  const before = plugin.hooks?.before;
  if (plugin.id !== "api-key" || before === undefined) return plugin;

  function refuseBanned({ matcher, handler }: Hook): Hook {
    async function checkOwner(...input: Parameters<typeof handler>): Promise<unknown> {
      const result = await handler(...input);
      const { user, context } = (result as KeyResult | undefined)?.response ?? {};
      const owner = user ?? context?.context?.session?.user ?? {};
      if ("banReason" in owner && isBanned(owner as Partial<BanColumns<unknown>>, Date.now())) {
        throw new APIError("UNAUTHORIZED", { message: "The API key is not valid" });
      }
      return result;
    }
    return { matcher, handler: Object.assign(checkOwner, handler) as typeof handler };
  }

  return { ...plugin, hooks: { ...plugin.hooks, before: before.map(refuseBanned) } };
}
