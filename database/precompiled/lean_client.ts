import { SESSION, type StatementSession } from "../session/statement_session.ts";

/** A client without drizzle's class, and how drizzle's client on the same session is created. */
export class LeanClient {
  /** The session. */
  readonly session: StatementSession;
  /** The method `transaction`; `undefined` once the application has replaced a member. */
  transaction: unknown;
  readonly #create: () => object;
  #client: object | undefined;

  /**
   * @param session The session.
   * @param transaction The method of that name.
   * @param create Creates drizzle's client.
   */
  constructor(session: StatementSession, transaction: unknown, create: () => object) {
    this.session = session;
    this.transaction = transaction;
    this.#create = create;
  }

  /** drizzle's client; created on first use. */
  get client(): object {
    return this.#client ??= this.#create();
  }

  /** drizzle's client, whose members the application changes. */
  get changedClient(): object {
    this.transaction = undefined;
    return this.client;
  }
}

/**
 * Creates the view of a client that an application uses. It answers the session and transactions
 * itself. All other members are those of drizzle's client.
 *
 * @param client The client.
 */
export function viewLeanClient(client: LeanClient): object {
  return new Proxy(client, HANDLER);
}

const HANDLER: ProxyHandler<LeanClient> = {
  get(target, key) {
    if (key === SESSION) return target.session;
    // `await` reads it of each value, and drizzle's client has none
    if (key === "then") return undefined;
    if (key === "transaction" && target.transaction !== undefined) return target.transaction;
    return Reflect.get(target.client, key);
  },
  has: (target, key) => key === SESSION || Reflect.has(target.client, key),
  set: (target, key, value) => Reflect.set(target.changedClient, key, value),
  defineProperty: (target, key, descriptor) =>
    Reflect.defineProperty(target.changedClient, key, descriptor),
  deleteProperty: (target, key) => Reflect.deleteProperty(target.changedClient, key),
  ownKeys: (target) => Reflect.ownKeys(target.client),
  getOwnPropertyDescriptor(target, key) {
    const descriptor = Reflect.getOwnPropertyDescriptor(target.client, key);
    // a proxy may report a member as fixed only if its target has it
    return descriptor && { ...descriptor, configurable: true };
  },
  getPrototypeOf: (target) => Reflect.getPrototypeOf(target.client),
  setPrototypeOf: (target, prototype) => Reflect.setPrototypeOf(target.changedClient, prototype),
  // the target would have to report the members of drizzle's client from then on
  preventExtensions: () => false,
};
