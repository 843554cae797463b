/** The error of a failed statement. A bundle without drizzle has a class with the same members. */
export { DrizzleQueryError } from "drizzle-orm";
