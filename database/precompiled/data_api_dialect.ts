import type { Dialect } from "../session/dialect.ts";
import { loadDrizzle } from "./load_drizzle.ts";

/** The dialect of the Data API, in a bundle without drizzle. */
export class DataApiDialect {
  /** Statements have texts of their own, which drizzle writes. */
  readonly hasOwnText: boolean = true;

  /** Creates the dialect itself. */
  load(): Dialect {
    return loadDrizzle().createDataApiDialect() as Dialect;
  }
}
