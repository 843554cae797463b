import fc from "fast-check";
import { testSeed } from "../support/seed.ts";

/** Runs a seed again; it is printed by every file of properties. */
const seed = testSeed;
/** More cases than the short form. */
const asked = Deno.env.get("TRELLIS_PROPERTY_RUNS");
/** Stops each property after so many seconds, however many cases are left. */
const seconds = Deno.env.get("TRELLIS_PROPERTY_SECONDS");
/** A file that gets one line of JSON for each property, with the cases that were really run. */
const report = Deno.env.get("TRELLIS_PROPERTY_REPORT");

/** Declares the properties of one topic. */
export interface Topic {
  /**
   * Declares a test that tries a property with the topic's number of cases.
   *
   * @param name `symbol() does something when something`
   * @param check The property, synchronous or not.
   * @param around Runs the whole of it, such as with the log put aside.
   */
  property(
    name: string,
    check: fc.IRawProperty<unknown>,
    around?: (run: () => Promise<void>) => Promise<unknown>,
  ): void;
}

/**
 * Begins the properties of a topic and prints their seed.
 *
 * @param topic What it is about.
 * @param shortRuns Cases of each property unless `TRELLIS_PROPERTY_RUNS` says otherwise.
 */
export function properties(topic: string, shortRuns: number): Topic {
  const numRuns = asked === undefined ? shortRuns : Number(asked);
  // deno-lint-ignore no-console
  console.log(`property tests of ${topic}: TRELLIS_SEED=${seed}, ${numRuns} cases each`);

  async function run(name: string, check: fc.IRawProperty<unknown>): Promise<void> {
    const details = await fc.check(check, {
      seed,
      numRuns,
      ...(seconds !== undefined && { interruptAfterTimeLimit: Number(seconds) * 1000 }),
    });
    if (report !== undefined) {
      const { numRuns: cases, failed } = details;
      Deno.writeTextFileSync(report, `${JSON.stringify({ topic, name, cases, failed, seed })}\n`, {
        append: true,
      });
    }
    if (details.failed) {
      throw new Error(fc.defaultReportMessage(details), { cause: details.errorInstance });
    }
  }

  return {
    property: (name, check, around = (fn) => fn()) =>
      Deno.test(name, () => around(() => run(name, check)).then(() => {})),
  };
}
