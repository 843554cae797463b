import { runtimeProcess } from "../../env/node_process.ts";
import { IdleTimer } from "./idle_timer.ts";

/** How long nothing was sent before a connection may have ended unheard: a sandbox that rests is frozen. */
const RESTED_MS = 500;

/** How long before gateways on the way may have forgotten a connection without a word to either end. */
const FORGOTTEN_MS = 60_000;

/** How long a server that is there takes at most to answer a statement that asks for nothing. */
const ANSWER_MS = 1000;

/**
 * Sees to it that a statement after a pause finds connections that are alive: one that ended meanwhile would fail it, and
 * nobody could tell whether it was done.
 */
export class IdleConnectionGuard {
  readonly #probe: () => Promise<void>;
  readonly #idle = new IdleTimer();
  #waking: Promise<void> | undefined;

  /** @param probe Asks an open connection for an answer, and drops the connections when none comes. */
  constructor(probe: () => Promise<void>) {
    this.#probe = probe;
  }

  /** Milliseconds since a statement ended. */
  get restedMs(): number {
    return this.#idle.elapsedMs;
  }

  /** To be called when a statement has ended. */
  used(): void {
    this.#idle.reset();
  }

  /**
   * To be called before a statement while nothing else is under way.
   *
   * @returns Resolves when connections that ended are gone from the pool; `undefined` when they did not rest.
   */
  wake(): Promise<void> | undefined {
    const { restedMs } = this;
    if (restedMs <= RESTED_MS) return undefined;
    return this.#waking ??= this.#look(restedMs > FORGOTTEN_MS).finally(() =>
      this.#waking = undefined
    );
  }

  async #look(mayBeForgotten: boolean): Promise<void> {
    // lets the process read what reached its sockets while it was frozen: one turn ends, one reads the end of a connection,
    // one the close that follows it, and one is for those who pass it on
    for (let turn = 0; turn < 4; turn++) await endOfTurn();
    if (mayBeForgotten) await this.#probe();
    this.used();
  }
}

/** Deno reads its sockets beside the event loop, and needs a moment for it. */
function endOfTurn(): Promise<void> {
  const isDeno = runtimeProcess?.versions.deno !== undefined;
  return new Promise((resolve) => void (isDeno ? setTimeout(resolve, 0) : setImmediate(resolve)));
}

/**
 * Whether a statement succeeds in time.
 *
 * @param answer The statement under way.
 */
export async function isAnswered(answer: PromiseLike<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<false>((resolve) => timer = setTimeout(() => resolve(false), ANSWER_MS));
  const answered = Promise.resolve(answer).then(() => true, () => false);
  return await Promise.race([answered, late]).finally(() => clearTimeout(timer));
}
