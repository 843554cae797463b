import { assertEquals } from "@std/assert";
import * as fc from "fast-check";
import { createRouteTable, type LocalRoute } from "../../testing/gateway/route_table.ts";
import { compareRoutes, parseRouteKey, type RoutePattern } from "../../router/route_key.ts";
import { createRouteMatcher } from "../../router/route_matcher.ts";
import { testSeed } from "../support/seed.ts";

const RUNS = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 100_000 : 1500;

const segment = fc.constantFrom("a", "b", "a:b", "$x", "{p}", "{p}", "~c.d");
const method = fc.constantFrom("GET", "POST", "ANY");
const route = fc.record({
  method,
  segments: fc.array(segment, { maxLength: 3 }),
  rest: fc.boolean(),
}).map(({ method, segments, rest }): RoutePattern => {
  const named = segments.map((each, i) => each === "{p}" ? `{p${i}}` : each);
  const path = `/${[...named, ...rest ? ["{rest+}"] : []].join("/")}`;
  return parseRouteKey(`${method} ${path}`);
});
const path = fc.array(
  fc.constantFrom(
    "a",
    "b",
    "a:b",
    "a%3Ab",
    "%61",
    "$x",
    "%24x",
    "~c.d",
    "x%2Fy",
    "%zz",
    "é",
    "*",
    "",
  ),
  { maxLength: 4 },
).map((segments) => `/${segments.join("/")}`);

/** Follows the rules of API Gateway: fixed segment, parameter, rest of the path; method before ANY. */
function findBySpecification(
  routes: readonly RoutePattern[],
  method: string,
  path: string,
): { key: string; parameters: Record<string, string> | null } | undefined {
  const decode = (text: string) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  };
  const segments = (path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path).split("/");
  function walk(
    candidates: readonly RoutePattern[],
    index: number,
    parameters: Record<string, string>,
  ): { route: RoutePattern; parameters: Record<string, string> } | undefined {
    const at = (each: RoutePattern) => each.path.split("/")[index];
    if (index === segments.length) {
      const ends = candidates.filter((each) => each.path.split("/").length === index);
      const found = ends.find((each) => each.method === method) ??
        ends.find((each) => each.method === "ANY");
      return found && { route: found, parameters };
    }
    const value = segments[index];
    const fixed = candidates.filter((each) => at(each) !== undefined && at(each) === decode(value));
    const found = fixed.length > 0 ? walk(fixed, index + 1, parameters) : undefined;
    if (found !== undefined) return found;
    const taking = candidates.filter((each) => /^\{\w+\}$/.test(at(each) ?? ""));
    if (value !== "" && taking.length > 0) {
      const name = at(taking[0]).slice(1, -1);
      const match = walk(taking, index + 1, { ...parameters, [name]: decode(value) });
      if (match !== undefined) return match;
    }
    const rest = segments.slice(index).join("/");
    const resting = candidates.filter((each) => at(each) === "{rest+}");
    const match = resting.find((each) => each.method === method) ??
      resting.find((each) => each.method === "ANY");
    return match === undefined || rest === ""
      ? undefined
      : { route: match, parameters: { ...parameters, rest: decode(rest) } };
  }
  const found = walk(routes, 1, {});
  if (found === undefined) return undefined;
  const { route, parameters } = found;
  return { key: route.key, parameters: route.path.includes("{") ? parameters : null };
}

const unique = (routes: readonly RoutePattern[]) => [
  ...new Map(routes.map((each) => [each.key, each])).values(),
];

Deno.test("createRouteMatcher() selects the route that the rules of API Gateway select, with any encoding", () => {
  let matched = 0;
  fc.assert(
    fc.property(
      fc.array(route, { minLength: 1, maxLength: 8 }),
      path,
      method,
      (all, path, method) => {
        const routes = unique(all);
        const found = createRouteMatcher(routes).find(method, path);
        const expected = findBySpecification(routes, method, path);
        if (found !== undefined) matched++;
        assertEquals(
          found && { key: found.route.key, parameters: found.parameters },
          expected,
          `${method} ${path} of ${routes.map(({ key }) => key).join()}`,
        );
      },
    ),
    { seed: testSeed, numRuns: RUNS },
  );
  assertEquals(matched > RUNS / 10, true, `only ${matched} of ${RUNS} requests matched a route`);
});

Deno.test("createRouteMatcher() selects the route that the local gateway selects", () => {
  const plain = fc.array(fc.constantFrom("a", "b", "$x", "x%2Fy", "%zz"), { maxLength: 4 })
    .map((segments) => `/${segments.join("/")}`);
  fc.assert(
    fc.property(
      fc.array(route, { minLength: 1, maxLength: 8 }),
      plain,
      method,
      (all, path, method) => {
        const routes = unique(all);
        const found = createRouteMatcher(routes).find(method, path);
        const local = createRouteTable(
          [...routes].sort(compareRoutes).map(({ method, path, key }): LocalRoute => ({
            method,
            path,
            name: key,
            handler: () => Promise.reject(new Error("not called")),
          })),
        )(method, path);
        assertEquals(
          found && [found.route.key, found.parameters],
          "route" in local ? [local.route.name, local.parameters] : undefined,
          `${method} ${path} of ${routes.map(({ key }) => key).join()}`,
        );
      },
    ),
    { seed: testSeed, numRuns: Math.floor(RUNS / 3) },
  );
});
