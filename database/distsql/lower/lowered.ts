import type { StatementReader } from "../statement_reader.ts";
import type { DistSqlStep } from "../translation.ts";

/** What a statement is written as before it is translated: statements of PostgreSQL, and steps that are ready to run. */
export type Lowered = StatementReader | DistSqlStep;
