import { findRequestCounts } from "./request_scope.ts";

type Method = (input: { readonly model?: string }) => Promise<unknown>;

interface Search {
  readonly model: string;
  readonly where: readonly { readonly field: string; readonly value: unknown }[];
  readonly join?: Readonly<Record<string, unknown>>;
}

interface TransactingAdapter {
  findOne(search: Search): Promise<unknown>;
  transaction<T>(run: (inner: TransactingAdapter) => Promise<T>): Promise<T>;
}

/** Methods of better-auth's adapter that only read. */
const READS: readonly string[] = ["findOne", "findMany", "count"];

/** Methods that write, apart from `create`. */
const WRITES: readonly string[] = [
  "update",
  "updateMany",
  "delete",
  "deleteMany",
  "consumeOne",
  "incrementOne",
];

/**
 * Makes an adapter wait until the limits allow the request: a read is sent together with the counts,
 * and its rows are returned after them; a write is not sent before. The session of a sign-in is
 * written together with the return of its attempt.
 *
 * @param factory The function that creates the adapter.
 * @returns A function that creates an adapter which waits.
 */
export function waitForCounts<Options, T extends object>(
  factory: (options: Options) => T,
): (options: Options) => T {
  return function createAdapter(options) {
    const adapter = factory(options);
    const target = adapter as unknown as Record<string, Method | undefined>;
    const whole = adapter as unknown as TransactingAdapter;
    whole.transaction = transactCounted(whole.transaction, whole.findOne);
    for (const name of READS) replace(target, name, readCounted);
    for (const name of WRITES) replace(target, name, writeCounted);
    replace(target, "create", createCounted);
    return adapter;
  };
}

function replace(
  target: Record<string, Method | undefined>,
  name: string,
  wrap: (run: Method) => Method,
): void {
  const method = target[name];
  if (method !== undefined) target[name] = wrap(method);
}

function readCounted(read: Method): Method {
  return async function readAllowed(input) {
    const decision = findRequestCounts()?.decision;
    if (decision === undefined) return await read(input);
    const rows = read(input);
    // a refusal does not wait for the rows, whose time may show whether an account exists
    rows.catch(() => {});
    await decision;
    return await rows;
  };
}

function writeCounted(write: Method): Method {
  return async function writeAllowed(input) {
    await findRequestCounts()?.decision;
    return await write(input);
  };
}

function createCounted(create: Method): Method {
  return async function createAllowed(input) {
    const counts = findRequestCounts();
    await counts?.decision;
    if (input.model !== "session" || !counts?.isProvenBySession) return await create(input);
    const [row] = await Promise.all([create(input), counts.giveBack()]);
    return row;
  };
}

/**
 * Begins a transaction after the counts. The user for whom a sign-up looks in its transaction is
 * searched with the counts. That reads what the transaction would: each of its statements sees what
 * is committed before it.
 */
function transactCounted(
  transaction: TransactingAdapter["transaction"],
  findOne: TransactingAdapter["findOne"],
): TransactingAdapter["transaction"] {
  return async function transactAllowed(run) {
    const counts = findRequestCounts();
    if (counts?.decision === undefined) return await transaction(run);
    const { address } = counts;
    if (address === undefined) {
      await counts.decision;
      return await transaction(run);
    }
    const found = findOne({ model: "user", where: [{ field: "email", value: address }] });
    found.catch(() => {});
    await counts.decision;
    const user = await found;
    return await transaction((inner) => run(answerOnce(inner, address, user)));
  };
}

/** Answers the first search of an adapter for the user of an address. */
function answerOnce(adapter: TransactingAdapter, address: string, user: unknown) {
  const { findOne } = adapter;
  adapter.findOne = async function findKnown(search) {
    const { model, where, join = {} } = search;
    const isKnown = model === "user" && where.length === 1 && where[0].field === "email" &&
      where[0].value === address && Object.keys(join).length === 0;
    if (!isKnown) return await findOne(search);
    adapter.findOne = findOne;
    return user;
  };
  return adapter;
}
