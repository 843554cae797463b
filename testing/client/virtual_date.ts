import type { TestClock } from "../test_client.ts";

/** A clock that is ahead of the real one. */
export interface VirtualDate extends TestClock {
  /** Restores the real clock. */
  restore(): void;
}

/**
 * Replaces `Date` by one that can be moved forward. The embedded database reads its time from it, so
 * that `now()` in statements moves, too. It is a `Proxy`, because `Date` can also be called without `new`, which a subclass cannot.
 */
export function installVirtualDate(): VirtualDate {
  const RealDate = Date;
  let aheadMs = 0;
  const now = () => RealDate.now() + aheadMs;
  const VirtualDate = new Proxy(RealDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new RealDate(now()).toString(),
    get: (target, name, receiver) => name === "now" ? now : Reflect.get(target, name, receiver),
  });
  globalThis.Date = VirtualDate;
  return {
    now,
    advance(ms): void {
      if (!(ms >= 0)) throw new RangeError(`advance() needs milliseconds of at least 0, got ${ms}`);
      aheadMs += ms;
    },
    restore(): void {
      globalThis.Date = RealDate;
    },
  };
}
