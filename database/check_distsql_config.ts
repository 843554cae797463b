import { type DatabaseSettings, getOwnRegion, splitEndpoint } from "./config.ts";
import { refuseConfig, showValue } from "./config_error.ts";

const REGION = /^[a-z]{2}(?:-[a-z]+)+-\d$/;

/**
 * Checks the fields of `distsql`.
 *
 * @throws {ConfigurationError} If one is missing or invalid.
 */
export function checkDistSqlConfig(
  { endpoint, region, username, isAdmin }: DatabaseSettings,
): void {
  if (endpoint === undefined) {
    refuseConfig(".endpoint is missing: give the cluster's host name, <id>.dsql.<region>.on.aws");
  }
  const [host, port] = splitEndpoint(endpoint);
  if (!/^[a-z0-9.-]+$/i.test(host) || (port !== undefined && !/^\d{1,5}$/.test(port))) {
    const given = showValue(redactUrl(endpoint));
    refuseConfig(`.endpoint must be a host name without scheme and path, got ${given}`);
  }
  if (region !== undefined && !REGION.test(region)) {
    refuseConfig(`.region must be a region such as eu-central-1, got ${showValue(region)}`);
  }
  const own = getOwnRegion(endpoint);
  if (region === undefined && own === undefined) {
    const given = showValue(endpoint);
    refuseConfig(
      `.region is missing, and the endpoint ${given} does not contain it: set the region`,
    );
  }
  if (own !== undefined && region !== undefined && own !== region) {
    const given = showValue(region);
    refuseConfig(`.region is ${given}, but the endpoint is in ${own}: leave the region out`);
  }
  if (isAdmin === true && username !== undefined && username !== "admin") {
    const given = showValue(username);
    refuseConfig(
      `.username is ${given} with isAdmin: the admin's name is admin, leave one of them out`,
    );
  }
  if (isAdmin !== true && username === undefined) {
    refuseConfig(
      ".username is missing: give the database role of this function, or isAdmin: true for " +
        "migrations",
    );
  }
  if (isAdmin !== true && username === "admin") {
    refuseConfig(
      '.username is "admin" without isAdmin: set isAdmin: true, or the role of this function',
    );
  }
}

function redactUrl(value: string): string {
  return value.replace(/(:\/\/)[^@/]*@/, "$1…@");
}
