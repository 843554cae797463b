import { qualify, quoteLiteral, quoteName } from "../../../sql/quote.ts";
import type { CloneConnection } from "./connection.ts";
import type { SequenceSchema } from "./read_catalog.ts";

/** Restarts the sequences of the target at the current values of the source. */
export async function restartSequences(
  source: CloneConnection,
  target: CloneConnection,
  sequences: readonly SequenceSchema[],
): Promise<void> {
  for (const { schema, name, increment, owner } of sequences) {
    const [at] = await source.run(
      `SELECT last_value::text AS last, is_called FROM ${qualify(schema, name)}`,
    );
    const next = BigInt(String(at.last)) + (at.is_called === true ? BigInt(increment) : 0n);
    if (owner?.isIdentity === true) {
      const table = qualify(owner.schema, owner.table);
      await target.run(
        `ALTER TABLE ${table} ALTER COLUMN ${quoteName(owner.column)} RESTART WITH ${next}`,
      );
      continue;
    }
    const [there] = await target.run(
      `SELECT to_regclass(${quoteLiteral(qualify(schema, name))}) IS NOT NULL AS there`,
    );
    // existing tables of the target may use other sequences
    if (there.there === true) {
      await target.run(`ALTER SEQUENCE ${qualify(schema, name)} RESTART WITH ${next}`);
    }
  }
}
