import { runtimeProcess } from "../../env/builtin_module.ts";
import { IdleTimer } from "../../env/idle_timer.ts";

/** Pause after which a connection may have ended unnoticed, because an idle sandbox is frozen. */
const RESTED_MS = 500;

/** Pause after which gateways may have dropped a connection silently. */
const FORGOTTEN_MS = 60_000;

/** Time in which a reachable server answers an empty statement. */
const ANSWER_MS = 1000;

/**
 * Guard that checks idle connections before they are used again. A connection that ended during a
 * pause would fail its next statement with an unknown outcome.
 */
export class IdleConnectionGuard {
  readonly #probe: () => Promise<void>;
  readonly #idle = new IdleTimer();
  #waking: Promise<void> | undefined;

  /**
   * @param probe Sends an empty statement on an open connection, and drops the connections if it is
   * not answered.
   */
  constructor(probe: () => Promise<void>) {
    this.#probe = probe;
  }

  /** Milliseconds since the last statement ended. */
  get restedMs(): number {
    return this.#idle.elapsedMs;
  }

  /** Records the end of a statement. */
  used(): void {
    this.#idle.reset();
  }

  /**
   * Checks idle connections. Call it before a statement while no other is running.
   *
   * @returns A promise that resolves once ended connections are out of the pool; `undefined` if
   * there was no pause.
   */
  wake(): Promise<void> | undefined {
    const { restedMs } = this;
    if (restedMs <= RESTED_MS) return undefined;
    return this.#waking ??= this.#look(restedMs > FORGOTTEN_MS).finally(() =>
      this.#waking = undefined
    );
  }

  async #look(mayBeForgotten: boolean): Promise<void> {
    // Lets the process read what its sockets received while it was frozen: one turn to finish, one
    // to read the end of a connection, one for the close that follows, and one for its listeners.
    for (let turn = 0; turn < 4; turn++) await endOfTurn();
    if (mayBeForgotten) await this.#probe();
    this.used();
  }
}

/**
 * Waits for one turn of the event loop. Deno reads its sockets outside of it, and needs a moment
 * more.
 */
function endOfTurn(): Promise<void> {
  const isDeno = runtimeProcess?.versions.deno !== undefined;
  return new Promise((resolve) => void (isDeno ? setTimeout(resolve, 0) : setImmediate(resolve)));
}

/**
 * Checks whether a statement succeeds in time.
 *
 * @param answer The running statement.
 */
export async function isAnswered(answer: PromiseLike<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<false>((resolve) => timer = setTimeout(() => resolve(false), ANSWER_MS));
  const answered = Promise.resolve(answer).then(() => true, () => false);
  return await Promise.race([answered, late]).finally(() => clearTimeout(timer));
}
