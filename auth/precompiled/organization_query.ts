/**
 * Never called: the tables of organizations belong to the application, and a function that declares
 * tables contains drizzle.
 */
export function prepareOrganizationQuery(): never {
  throw new Error("trellis build omitted the query of organizations from this function");
}
