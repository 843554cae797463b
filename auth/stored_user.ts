import { findRequestScope } from "./request_scope.ts";

type Row = Record<string, unknown>;

interface Adapter {
  create(input: { readonly model: string }): Promise<Row>;
  findOne(input: {
    readonly model: string;
    readonly where: readonly { readonly field: string; readonly value: unknown }[];
  }): Promise<Row | null>;
  transaction<T>(run: (inner: Adapter) => Promise<T>): Promise<T>;
}

/**
 * Makes the user of a sign-up that is one statement the stored one. better-auth has got the values
 * that it has sent, and does not look at them before its session is inserted. Then they are replaced
 * by those of the database, with its defaults and changes by triggers.
 *
 * @param factory The function that creates the adapter.
 * @returns A function that creates an adapter which replaces them.
 */
export function returnStoredUsers<Options, T extends object>(
  factory: (options: Options) => T,
): (options: Options) => T {
  return function createAdapter(options) {
    const adapter = factory(options);
    const whole = adapter as unknown as Adapter;
    const { transaction } = whole;
    whole.transaction = (run) => transaction((inner) => run(replaceUser(inner)));
    return adapter;
  };
}

function replaceUser(adapter: Adapter): Adapter {
  const { create, findOne } = adapter;
  let user: Row | undefined;
  adapter.create = async function createAndReplace(input) {
    const row = await create(input);
    if (input.model === "user") user = row;
    const { storedUser } = findRequestScope() ?? {};
    if (input.model === "session" && user !== undefined && storedUser !== undefined) {
      // better-auth's adapter converts the row, which needs no statement
      Object.assign(
        user,
        await findOne({ model: "user", where: [{ field: "id", value: user.id }] }),
      );
    }
    return row;
  };
  return adapter;
}
