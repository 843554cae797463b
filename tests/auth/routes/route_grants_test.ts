// deno-lint-ignore-file no-console -- a full run reports its steps
import { assert, assertEquals } from "@std/assert";
import { AUTH_ROUTE_TABLES, MAIL_ROUTES } from "../../../cli/grants/auth_route_tables.ts";
import { AUTH_TABLES } from "../../../cli/grants/auth_tables.ts";
import { startPostgres } from "../../support/postgres.ts";
import { testSeed } from "../../support/seed.ts";
import { createRandom } from "../../support/random.ts";
import { walkRoutes } from "./route_walk.ts";
import { getRole, openRouteWorld, type RouteWorld } from "./route_world.ts";

const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const ROUTES = Object.keys(AUTH_ROUTE_TABLES);

/** Creates a role for each route, with the grants that `trellis generate permissions` derives. */
async function createRoles(world: RouteWorld): Promise<void> {
  for (const route of ROUTES) {
    const role = getRole(route);
    const grants = Object.entries(AUTH_ROUTE_TABLES[route]).map(([model, operations]) =>
      `grant ${operations.join()} on ${AUTH_TABLES[model].name} to ${role};`
    );
    const mail = MAIL_ROUTES.includes(route) ? `grant insert on trellis_jobs to ${role};` : "";
    await world.query(
      `create role ${role}; grant select, insert, update on rate_limits to ${role}; ${
        grants.join("")
      }${mail}`,
    );
  }
}

/** Grants that the walk of a full run uses, so that the table is not wider than it must be. */
function findUnused(observed: ReadonlySet<string>): string[] {
  return ROUTES.flatMap((route) =>
    Object.entries(AUTH_ROUTE_TABLES[route]).flatMap(([model, operations]) =>
      operations.map((operation) => `${route} ${AUTH_TABLES[model].name} ${operation}`)
    )
  ).filter((grant) => !observed.has(grant));
}

Deno.test("AUTH_ROUTE_TABLES suffices for each route in generated histories", {
  sanitizeOps: false,
  sanitizeResources: false,
}, async () => {
  const server = await startPostgres();
  const world = await openRouteWorld(server.url);
  try {
    assertEquals((await world.listRoutes()).sort(), [...ROUTES].sort());
    await createRoles(world);
    await world.query(`select setseed(${(testSeed % 1000) / 1000})`);
    const count = isFull ? 6_000 : 150;
    await walkRoutes(world, createRandom(testSeed), count);
    if (isFull) {
      const unused = findUnused(world.observed);
      console.log(`seed ${testSeed}: ${count} steps, ${unused.length} grants not used: ${unused}`);
    }
    assert(world.observed.has("/sign-up/email users INSERT"));
  } finally {
    await world.close();
    await server.stop();
  }
});
