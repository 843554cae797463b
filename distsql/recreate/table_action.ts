import type { StatementReader } from "../../sql/statement_reader.ts";
import type { TableSchema } from "../schema/table_schema.ts";

/** One action of an ALTER TABLE, with the table that it changes. */
export interface TableAction {
  /** The table; changed in place. */
  readonly schema: TableSchema;
  /** The statement. */
  readonly reader: StatementReader;
  /** Position of the action's first word. */
  readonly from: number;
  /** End of the action. */
  readonly to: number;
  /** True if USING also converts values whose type stays the same. */
  readonly convertsAlways: boolean;
}
